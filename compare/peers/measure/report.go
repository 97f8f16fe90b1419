package measure

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"coapply.dev/compare/results"
)

// Report is the result of a run of `compare bench`.
type Report struct {
	Command     string              `json:"command"`
	Started     time.Time           `json:"started"`
	Took        time.Duration       `json:"tookNs"`
	Rounds      int                 `json:"rounds"`
	Quick       bool                `json:"quick,omitempty"`
	Environment results.Environment `json:"environment"`
	Rows        []Row               `json:"rows"`
	// LostUpdates is the number of lost updates in all trials, and Acknowledged the number of acknowledged writes.
	LostUpdates  int `json:"lostUpdates"`
	Acknowledged int `json:"acknowledged"`
	// Trials are all trials of the run.
	Trials []results.Trial `json:"trials,omitempty"`
}

// Write writes the report as JSON.
func (r Report) Write(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// Table returns the report as a table for a terminal with 160 columns.
func (r Report) Table() string {
	t := tableOf(r.Rows)
	t.SetStyle(table.StyleLight)
	t.Style().Options.SeparateRows = true
	t.Style().Format.Header = text.FormatDefault
	const side = 40 // width of the first and the last column
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, WidthMax: side, WidthMaxEnforcer: text.WrapSoft},
		{Number: 4, WidthMax: 28, WidthMaxEnforcer: text.WrapSoft},
		{Number: 6, WidthMax: side, WidthMaxEnforcer: text.WrapSoft},
	})
	return t.Render() + "\n" + r.losses() + "\n"
}

func tableOf(rows []Row) table.Writer {
	t := table.NewWriter()
	t.AppendHeader(table.Row{"measure", "must", "aim", "measured: median [least, greatest]", "met", "beside it"})
	series := ""
	for _, row := range rows {
		if row.Series != series && row.Series != "" {
			t.AppendRow(table.Row{row.Series})
		}
		series = row.Series
		t.AppendRow(table.Row{
			row.name(), row.Must.text(row.Unit), row.Aim.text(row.Unit), spread(row.Unit, row.Rounds), row.Met(), row.beside(),
		})
	}
	return t
}

// losses returns a sentence about the lost updates that the oracle found.
func (r Report) losses() string {
	if len(r.Trials) == 0 {
		return ""
	}
	return fmt.Sprintf("Lost updates: %d in %d acknowledged writes of %d trials.", r.LostUpdates, r.Acknowledged, len(r.Trials))
}
