import type { DescMessage } from '@bufbuild/protobuf'
import { type FormEvent, type ReactNode, useId, useRef, useState } from 'react'
import { completions, type Filters } from '../../values/filter-tokens.ts'
import { useKeys } from '../parts/keys.ts'

/** The filters of a list as tokens in one field, which are completed while a person types; `f` leads to it. */
export function FilterField({
  text,
  filters,
  input,
  onApply,
}: {
  readonly text: string
  readonly filters: Filters
  readonly input: DescMessage
  readonly onApply: (text: string) => void
}): ReactNode {
  const [draft, setDraft] = useState(text)
  const field = useRef<HTMLInputElement>(null)
  const list_id = useId()
  useKeys({ f: () => field.current?.focus() })
  const names = Object.keys(filters)
  if (names.length === 0) return null
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    field.current?.blur()
    onApply(draft.trim())
  }
  return (
    <form className="filters" onSubmit={submit}>
      <input
        ref={field}
        value={draft}
        list={list_id}
        aria-label="Filters"
        placeholder={names.map((name) => `${name}:`).join(' ')}
        spellCheck={false}
        autoComplete="off"
        onChange={({ target }) => setDraft(target.value)}
      />
      <datalist id={list_id}>
        {completions(draft, filters, input).map((completed) => (
          <option key={completed} value={completed} />
        ))}
      </datalist>
      <button type="submit">Filter</button>
      {text !== '' && (
        <button type="button" onClick={() => onApply('')}>
          Show all
        </button>
      )}
    </form>
  )
}
