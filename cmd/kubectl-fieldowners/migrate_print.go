package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize/english"

	"coapply.dev/apply"
	"coapply.dev/apply/ownership"
	"coapply.dev/cmd/kubectl-fieldowners/internal/ownerview"
)

// showTransfer prints what moves and what stays, under who has it and who is to have it.
func (u *undoable) showTransfer(object apply.ObjectRef, t *ownership.Transfer) {
	moves, kept := t.Moves(), t.Unmoved()
	title := fmt.Sprintf("%v: nothing to move", object)
	if len(moves) > 0 {
		title = fmt.Sprintf("%v: %s to move", object, fields(len(moves)))
	}
	if len(kept) > 0 {
		title += fmt.Sprintf(", %d to stay", len(kept))
	}
	fmt.Fprintln(u.Out, u.Screen(false).Palette.Strong(ownerview.Safe(title)))
	heading := ""
	under := func(text string) {
		if text != heading {
			heading = text
			fmt.Fprintln(u.Out, "  "+ownerview.Safe(text)+":")
		}
	}
	for _, move := range moves {
		under(fmt.Sprintf("%v -> %v", move.From, move.To))
		note := ""
		switch {
		case move.FromKeeps:
			note = "(shared: both own it then)"
		case move.ToOwned:
			note = "(both own it now)"
		}
		u.item(move.Path.String(), note)
	}
	for _, stays := range kept {
		under(fmt.Sprintf("stay with %v", stays.Manager))
		u.item(stays.Path.String()+":", stays.Reason)
	}
}

func fields(n int) string { return english.Plural(n, "field", "") }

const (
	columns = 80
	indent  = "    "
)

// item prints a line below a heading; what is too long for one goes on below it.
func (u *undoable) item(head, tail string) {
	head, tail = ownerview.Safe(head), ownerview.Safe(tail)
	line := strings.TrimRight(indent+head+" "+tail, " ")
	if tail == "" || utf8.RuneCountInString(line) <= columns {
		fmt.Fprintln(u.Out, line)
		return
	}
	fmt.Fprintln(u.Out, indent+head)
	fmt.Fprintln(u.Out, ownerview.Wrap(tail, indent+"  ", columns))
}
