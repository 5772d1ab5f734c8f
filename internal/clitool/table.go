package clitool

import (
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// table prints objects as rows, a column for each name that says something in any of them, in the
// order in which the names come first.
func (p *printer) table(items []value) {
	columns := p.chosen(columnsOf(items))
	if !p.terminal {
		p.rows(columns, items)
		return
	}
	t := table.NewWriter()
	t.SetStyle(p.style())
	t.AppendHeader(row(p.titles(columns)))
	t.SetColumnConfigs(p.configs(columns))
	for _, item := range items {
		t.AppendRow(row(cells(columns, item)))
	}
	p.printTable(t.Render())
}

// printTable prints a table whose cells are harmless already; it holds the codes of its colours.
func (p *printer) printTable(s string) {
	if s != "" {
		p.out.Write([]byte(s + "\n"))
	}
}

// rows prints a line of names and a line an object, with tabs between.
func (p *printer) rows(columns []string, items []value) {
	p.printf("%s\n", strings.Join(columns, "\t"))
	for _, item := range items {
		p.printf("%s\n", strings.Join(cells(columns, item), "\t"))
	}
}

// style is a table of light lines without a frame.
func (p *printer) style() table.Style {
	s := table.StyleLight
	s.Options = table.OptionsNoBorders
	s.Format.Header = text.FormatDefault
	s.Size.WidthMax = p.width
	return s
}

// titles are the names of the columns, in bold where there are colours.
func (p *printer) titles(columns []string) []string {
	var titles []string
	for _, name := range columns {
		titles = append(titles, p.paint(bold, harmless(name)))
	}
	return titles
}

// configs bound each column, so that one long text leaves room for the others.
func (p *printer) configs(columns []string) []table.ColumnConfig {
	widest := max(12, p.width/max(1, min(len(columns), 3)))
	var configs []table.ColumnConfig
	for i := range columns {
		configs = append(configs, table.ColumnConfig{
			Number: i + 1, WidthMax: widest, WidthMaxEnforcer: snip,
		})
	}
	return configs
}

func snip(cell string, width int) string { return text.Snip(cell, width, "…") }

// chosen are those of the columns that are worth showing: all of them, if none is.
func (p *printer) chosen(columns []string) []string {
	var chosen []string
	for _, name := range p.columns {
		if slices.Contains(columns, name) {
			chosen = append(chosen, name)
		}
	}
	if len(chosen) == 0 {
		return columns
	}
	return chosen
}

// columnsOf are the names that any of the objects has something to show under.
func columnsOf(items []value) []string {
	var columns []string
	seen := map[string]bool{}
	for _, item := range items {
		for _, m := range item.shown() {
			if !seen[m.name] {
				seen[m.name] = true
				columns = append(columns, m.name)
			}
		}
	}
	return columns
}

// cells are the values of the columns, each on one line.
func cells(columns []string, item value) []string {
	var all []string
	for _, name := range columns {
		cell := strings.Join(strings.Fields(item.get(name).inline()), " ")
		all = append(all, harmless(cell))
	}
	return all
}

func row(cells []string) table.Row {
	var r table.Row
	for _, cell := range cells {
		r = append(r, cell)
	}
	return r
}
