import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useId, useRef } from 'react'
import type { ShownField, Values } from '../../forms/fields.ts'
import { callRpc } from '../call/call-rpc.ts'
import { Text } from '../parts/text.tsx'

const REASON_MAX = 500

/** The field that every act of the audit trail has. */
export const REASON: ShownField = {
  name: 'reason',
  label: 'Reason, for the audit trail',
  kind: 'lines',
  choices: [],
  initial: '',
  is_enum: false,
}

/** The fields of a form. What most people leave alone is folded. */
export function FormFields({
  fields,
  problems,
}: {
  readonly fields: readonly ShownField[]
  readonly problems: Values
}): ReactNode {
  const rare = fields.filter(({ is_rare }) => is_rare)
  const show = (field: ShownField): ReactNode => (
    <Field key={field.name} field={field} problem={problems[field.name]} />
  )
  return (
    <>
      {fields.filter(({ is_rare }) => !is_rare).map(show)}
      {rare.length > 0 && (
        <details open={rare.some(({ name, initial }) => initial !== '' || name in problems) || undefined}>
          <summary>More: {rare.map(({ label }) => label.toLowerCase()).join(', ')}</summary>
          <div className="fields">{rare.map(show)}</div>
        </details>
      )}
    </>
  )
}

interface FieldProps {
  readonly field: ShownField
  readonly problem: string | undefined
}

function Field({ field, problem }: FieldProps): ReactNode {
  const id = useId()
  const { label, help, kind, is_optional, is_rare } = field
  const described = [help && `${id}-help`, problem && `${id}-problem`].filter(Boolean).join(' ')
  const is_required = !is_optional && !is_rare && kind !== 'checks'
  const notes = (
    <>
      {help && (
        <small id={`${id}-help`} className="quiet">
          {help}
        </small>
      )}
      {problem !== undefined && (
        <small id={`${id}-problem`} className="bad" role="alert">
          <Text>{problem}</Text>
        </small>
      )}
    </>
  )
  const attributes = {
    name: field.name,
    'aria-describedby': described === '' ? undefined : described,
    'aria-invalid': problem === undefined ? undefined : (true as const),
  }
  if (kind === 'checks')
    return (
      <fieldset className="checks" aria-describedby={attributes['aria-describedby']}>
        <legend>{label}</legend>
        {field.choices.map((choice) => (
          <label key={choice}>
            <input
              type="checkbox"
              name={field.name}
              value={choice}
              defaultChecked={field.initial.split('\n').includes(choice)}
              aria-invalid={attributes['aria-invalid']}
            />
            <Text>{field.is_enum ? choice.replaceAll('_', ' ') : choice}</Text>
          </label>
        ))}
        {notes}
      </fieldset>
    )
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {!is_required && <span className="quiet"> (optional)</span>}
      </label>
      <Control field={field} attributes={{ ...attributes, id, required: is_required }} />
      {notes}
    </div>
  )
}

interface ControlProps {
  readonly field: ShownField
  readonly attributes: {
    readonly id: string
    readonly name: string
    readonly required: boolean
    readonly 'aria-describedby': string | undefined
    readonly 'aria-invalid': true | undefined
  }
}

function Control({ field, attributes }: ControlProps): ReactNode {
  const { kind, choices, initial } = field
  const { required } = attributes
  switch (kind) {
    case 'choice':
      return (
        <select {...attributes} defaultValue={initial}>
          {(!required || initial === '') && choices.length !== 1 && (
            <option value="">{required ? 'Choose…' : ''}</option>
          )}
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {field.is_enum ? choice.replaceAll('_', ' ') : choice}
            </option>
          ))}
        </select>
      )
    case 'lines':
      return (
        <textarea
          {...attributes}
          rows={2}
          defaultValue={initial}
          maxLength={field.name === 'reason' ? REASON_MAX : undefined}
        />
      )
    case 'list':
      return <ListControl field={field} attributes={attributes} />
    case 'pairs':
      return <textarea {...attributes} rows={3} defaultValue={initial} spellCheck={false} />
    case 'time':
      return (
        <>
          <input {...attributes} type="datetime-local" defaultValue={initial} />
          <small className="quiet">
            In the zone of this browser, {new Intl.DateTimeFormat().resolvedOptions().timeZone}.
          </small>
        </>
      )
    case 'file':
      return <input {...attributes} type="file" />
    default:
      return <TextControl field={field} attributes={attributes} />
  }
}

/** What can be written, as the server has it now. */
function useProposals({ name, choices, propose }: ShownField, id: string): readonly string[] {
  const { data = [] } = useQuery({
    queryKey: ['proposals', id, name],
    queryFn: () => propose?.((method, request) => callRpc(method, request)) ?? [],
    enabled: propose !== undefined,
    staleTime: Number.POSITIVE_INFINITY,
  })
  return [...choices, ...data]
}

function TextControl({ field, attributes }: ControlProps): ReactNode {
  const { id } = attributes
  const proposals = useProposals(field, id)
  // The keyboard of a phone for decimals has no minus, which an amount can have.
  const is_number = field.kind === 'number'
  return (
    <>
      <input
        {...attributes}
        defaultValue={field.initial}
        autoComplete="off"
        spellCheck={false}
        inputMode={is_number ? 'decimal' : 'text'}
        list={proposals.length === 0 ? undefined : `${id}-list`}
      />
      {proposals.length > 0 && (
        <datalist id={`${id}-list`}>
          {proposals.map((proposal) => (
            <option key={proposal} value={proposal} />
          ))}
        </datalist>
      )}
    </>
  )
}

function ListControl({ field, attributes }: ControlProps): ReactNode {
  const proposals = useProposals(field, attributes.id)
  const area = useRef<HTMLTextAreaElement>(null)
  const add = (proposal: string): void => {
    if (area.current === null) return
    const lines = area.current.value.split('\n').filter((line) => line.trim() !== '')
    if (lines.includes(proposal)) return
    // A change by `value` would not be noticed as one of the form, and a count would stay after it.
    area.current.setRangeText([...lines, proposal].join('\n'), 0, area.current.value.length, 'end')
    area.current.dispatchEvent(new Event('input', { bubbles: true }))
  }
  return (
    <>
      <textarea ref={area} {...attributes} rows={2} defaultValue={field.initial} spellCheck={false} />
      {proposals.length > 0 && (
        <span className="proposals">
          {proposals.map((proposal) => (
            <button key={proposal} type="button" onClick={() => add(proposal)}>
              + <Text>{proposal}</Text>
            </button>
          ))}
        </span>
      )}
    </>
  )
}
