package vault

import (
	"encoding/json"
	"strings"
)

// WithObsidian returns the configuration with what the settings of Obsidian say, where raven.yaml says nothing: the
// folder of the daily notes, and that of the templates. Either text may be nil. Settings that cannot be read count as
// none. The format of the names of daily notes is always ours, YYYY-MM-DD.
func (c Config) WithObsidian(daily, templates []byte) Config {
	if folder, ok := obsidianFolder(daily); ok && !c.dailySaid {
		if c.DailyDirectory = strings.TrimSuffix(folder, "/"); folder == "" {
			c.DailyDirectory = Root
		}
	}
	if folder, ok := obsidianFolder(templates); ok && c.Directories.Template == "" {
		c.Directories.Template = folder
	}
	return c
}

// obsidianFolder returns the folder that a file of settings names, with a slash at the end; "" is the vault itself.
func obsidianFolder(text []byte) (folder string, ok bool) {
	var settings struct {
		Folder *string `json:"folder"`
	}
	if len(text) == 0 || json.Unmarshal(text, &settings) != nil || settings.Folder == nil {
		return "", false
	}
	folder = CleanPath(strings.Trim(strings.TrimSpace(*settings.Folder), "/"))
	if folder == "" || folder == Root {
		return "", true
	}
	if _, err := ParsePath(folder + "/x.md"); err != nil {
		return "", false
	}
	return folder + "/", true
}

// IsTemplate reports whether a note is in the folder of the templates.
func (c Config) IsTemplate(p Path) bool {
	folder := c.Directories.Template
	return folder != "" && len(p) > len(folder) && strings.EqualFold(string(p[:len(folder)]), folder)
}
