package multihub

import "encoding/json"

// Texts is one text or a list of texts in JSON.
type Texts []string

// UnmarshalJSON reads both forms.
func (t *Texts) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*t = Texts{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(t))
}
