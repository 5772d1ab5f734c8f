package credential

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v4"

	"github.com/rookeryhq/rookery/internal/fault"
)

// serverKey is the only key of config.yaml. It names the default server.
const serverKey = "server"

// Usual returns the default server, which is used by commands that name neither a server nor a
// directory; false if there is none.
func (s Store) Usual() (Server, bool, error) {
	doc, err := s.config()
	if err != nil || doc == nil {
		return Server{}, false, err
	}
	value := valueOf(doc)
	if value == nil || value.ShortTag() == "!!null" {
		return Server{}, false, nil
	}
	server, err := ParseServer(value.Value)
	if err != nil {
		f := fault.Of(err)
		return Server{}, false, fault.New(f.Code, "%s: %s: %s", usualFile, serverKey, f.Message).
			Fix("server: %s", f.Fixes[0])
	}
	return server, true, nil
}

// SetUsual sets the default server. Other content of the file, such as comments, is kept.
func (s Store) SetUsual(ctx context.Context, server Server) error {
	return s.locked(ctx, func() error { return s.setUsual(server.URL) })
}

// ForgetUsual removes the default server if it has this origin, and reports whether it had.
func (s Store) ForgetUsual(ctx context.Context, o Origin) (was bool, err error) {
	err = s.locked(ctx, func() error {
		usual, ok, err := s.Usual()
		if was = ok && usual.Origin == o; err != nil || !was {
			return err
		}
		return s.setUsual("")
	})
	return was, err
}

// setUsual writes config.yaml with another value; null if url is empty.
func (s Store) setUsual(url string) error {
	doc, err := s.config()
	if err != nil {
		return err
	}
	if doc == nil {
		doc = &yaml.Node{Kind: yaml.DocumentNode, Content: []*yaml.Node{{Kind: yaml.MappingNode}}}
	}
	value := valueOf(doc)
	// The file has no key yet. config has checked that it has no other keys.
	if value == nil {
		value = &yaml.Node{}
		top := doc.Content[0]
		top.Content = append(top.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: serverKey}, value)
	}
	// The node is replaced, so that a comment at the end of its line is kept but its style is not.
	*value = yaml.Node{Kind: yaml.ScalarNode, Value: url, LineComment: value.LineComment}
	if url == "" {
		value.Value = "null"
	}
	data, err := yaml.Marshal(doc)
	if err != nil {
		return unwritable(usualFile, err)
	}
	return s.replace(usualFile, data)
}

// config returns config.yaml as a document with a mapping; nil if the file does not exist or is
// empty.
func (s Store) config() (*yaml.Node, error) {
	data, err := os.ReadFile(filepath.Join(s.Dir, usualFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(usualFile, err)
	}
	doc := yaml.Node{}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, malformed("it is not YAML")
	}
	if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
		return nil, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, malformed("it is not a mapping of keys")
	}
	for i := 0; i < len(top.Content); i += 2 {
		if top.Content[i].Value != serverKey || top.Content[i+1].Kind != yaml.ScalarNode {
			return nil, malformed("it can contain only the key server, with the address of a server")
		}
	}
	return &doc, nil
}

// valueOf returns the value of serverKey in config.yaml; nil if there is none.
func valueOf(doc *yaml.Node) *yaml.Node {
	if top := doc.Content[0]; len(top.Content) > 0 {
		return top.Content[1]
	}
	return nil
}

// malformed returns the INVALID_PARAMETER error of an invalid config.yaml.
func malformed(why string) *fault.Fault {
	return fault.New(fault.InvalidParameter, "%s in %s: %s", usualFile, place, why).
		Fix("%s: https://memory.example.test", serverKey)
}
