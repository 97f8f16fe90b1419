package report

import "coapply.dev/compare/summary"

const contestedField = "contested-field"

// contestedRow is a row of the table about contested fields: what one arm does in the workload contested-field.
type contestedRow struct{ Arm, Landed, Rejected, Requests, Median, Owner string }

func contestedRows(s summary.Summary) []contestedRow {
	var rows []contestedRow
	for _, r := range s.Rows {
		if r.Workload != contestedField || r.AA || r.Control || r.Trials == 0 {
			continue
		}
		kept := "the last writer"
		switch keeps := r.Measures["extra.first_owner_keeps"].Mean; {
		case keeps == 1:
			kept = "the first owner"
		case keeps > 0:
			kept = "the first owner in " + summary.Percent(keeps) + " of the trials, else another one"
		}
		rows = append(rows, contestedRow{
			Arm: r.Arm, Landed: mean(r, goodput, "/s"), Rejected: summary.Percent(r.Measures["give_up_share"].Mean),
			Requests: mean(r, "requests_per_intent", ""), Median: mean(r, "p50_ms", " ms"), Owner: kept,
		})
	}
	return rows
}

// mean returns the mean of a measure with its unit.
func mean(r summary.Row, measure, unit string) string {
	e, ok := r.Measures[measure]
	if !ok {
		return summary.NA
	}
	return summary.Number(e.Mean) + unit
}
