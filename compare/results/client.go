package results

// MergeClients adds up the counts of the processes of one trial.
func MergeClients(clients ...Client) Client {
	all := Client{Requests: map[string]int{}}
	for _, c := range clients {
		for key, count := range c.Requests {
			all.Requests[key] += count
		}
		all.Conflicts += c.Conflicts
		all.StaleWrites += c.StaleWrites
		all.BytesUp += c.BytesUp
		all.BytesDown += c.BytesDown
		all.CPU += c.CPU
		all.Busy += c.Busy
		all.Own += c.Own
		all.Waited += c.Waited
		all.LimiterWaits += c.LimiterWaits
	}
	return all
}
