package report

// maxCells is how many cells of a run get charts of their own: a page has to stay a page. All are in the appendix.
const maxCells = 40

// workloadSection is a workload with its cells.
type workloadSection struct {
	ID, Name, Summary string
	Sweeps            []chart
	Cells             []cellSection
	Left              int // cells without charts
}

// cellSection is a cell with its arms.
type cellSection struct {
	Name, Title, Time string
	Latency           chart
	Bars              []bars
	Tables            []table
}

func (b *builder) workloads() ([]workloadSection, error) {
	var sections []workloadSection
	shown := 0
	for _, group := range grouped(b.results.Cells) {
		section := workloadSection{ID: "workload-" + count(len(sections)+1), Name: group.Name, Summary: b.summaryOf(group.Name)}
		for _, sweep := range group.sweeps() {
			c, err := b.goodputChart(sweep)
			if err != nil {
				return nil, err
			}
			section.Sweeps = append(section.Sweeps, c)
		}
		for _, cell := range group.Cells {
			if shown++; shown > maxCells {
				section.Left++
				continue
			}
			c, err := b.cell(cell)
			if err != nil {
				return nil, err
			}
			section.Cells = append(section.Cells, c)
		}
		sections = append(sections, section)
	}
	return sections, nil
}

func (b *builder) cell(cell *cellGroup) (cellSection, error) {
	latency, err := b.latencyChart(cell)
	section := cellSection{
		Name: cell.Key.String(), Title: cell.Key.Title(), Time: b.trialTime(cell.Key), Latency: latency,
		Bars: []bars{
			b.intervalBars(cell, "Goodput", "intents per second that landed and were found, with 95 % interval", goodput),
			b.attemptBars(cell), b.requestBars(cell),
			b.intervalBars(cell, "CPU of the API server", "milliseconds for each intent that landed, with 95 % interval", apiserverCPU),
		},
		Tables: []table{b.costs(cell)},
	}
	if extra := b.extras(cell); len(extra.Rows) > 0 {
		section.Tables = append(section.Tables, extra)
	}
	return section, err
}
