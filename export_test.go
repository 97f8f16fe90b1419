package coapply

// LostFields is a part of Relevant.
var LostFields = lostFields
