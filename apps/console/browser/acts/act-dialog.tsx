import { type FormEvent, type ReactNode, useId, useRef, useState } from 'react'
import { newOperationId } from '../call/machine.ts'
import { queries } from '../call/use-rpc.ts'
import { Dialog } from '../parts/dialog.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { Lines } from '../parts/text.tsx'
import type { Act, ActInput } from './act.ts'

const REASON_MAX = 500

type Outcome =
  | { readonly state: 'asking' | 'sending' }
  | { readonly state: 'refused'; readonly error: unknown }
  | { readonly state: 'done'; readonly shown: string | undefined }

/** Says what an act will do, asks for a reason, and shows what the server answered. Nothing is shown as done before. */
export function ActDialog<T>({
  act,
  item,
  onClose,
}: {
  readonly act: Act<T>
  readonly item: T
  readonly onClose: () => void
}): ReactNode {
  const [outcome, setOutcome] = useState<Outcome>({ state: 'asking' })
  const operationIdOf = useOperationIds()
  // What is decided about is what the person has read, also when the resource changes meanwhile.
  const [read_item] = useState(item)
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const { reason = '', ...inputs } = Object.fromEntries(new FormData(event.currentTarget)) as Record<
      string,
      string
    >
    setOutcome({ state: 'sending' })
    try {
      const operation_id = operationIdOf(JSON.stringify([reason, inputs]))
      const shown = await act.run(read_item, { reason: reason.trim(), operation_id, inputs })
      setOutcome({ state: 'done', shown })
    } catch (error) {
      setOutcome({ state: 'refused', error })
    }
    // Also a refused or unclear call can have changed something.
    await queries.invalidateQueries()
  }
  return (
    <Dialog title={act.name} onClose={onClose}>
      {outcome.state === 'done' ? (
        <Done shown={outcome.shown} onClose={onClose} />
      ) : (
        <form onSubmit={(event) => void submit(event)}>
          <ul className="effects">
            {act.effects(read_item).map((sentence) => (
              <li key={sentence}>
                <Lines>{sentence}</Lines>
              </li>
            ))}
          </ul>
          {(act.inputs ?? []).map((input) => (
            <Field key={input.name} input={input} />
          ))}
          <Field input={{ name: 'reason', label: 'Reason, for the audit trail', kind: 'lines' }} />
          {outcome.state === 'refused' && <ProblemNote error={outcome.error} />}
          <div className="acts">
            <button type="submit" className="main" disabled={outcome.state === 'sending'}>
              {outcome.state === 'sending' ? 'Sending…' : act.name}
            </button>
            <button type="button" onClick={onClose}>
              Cancel
            </button>
          </div>
        </form>
      )}
    </Dialog>
  )
}

/** One operation id per decision: a repetition keeps it, a changed decision gets another one. */
function useOperationIds(): (decision: string) => string {
  const ids = useRef(new Map<string, string>())
  return (decision) => {
    const known = ids.current.get(decision)
    if (known !== undefined) return known
    const fresh = newOperationId()
    ids.current.set(decision, fresh)
    return fresh
  }
}

function Done({
  shown,
  onClose,
}: {
  readonly shown: string | undefined
  readonly onClose: () => void
}): ReactNode {
  return (
    <>
      <p role="status">Done: the server has confirmed it.</p>
      {shown !== undefined && (
        <p className="note waiting">
          It is shown once, copy it now: <code>{shown}</code>
        </p>
      )}
      {/* biome-ignore lint/a11y/noAutofocus: the form that had the focus is gone */}
      <button type="button" className="main" autoFocus onClick={onClose}>
        Close
      </button>
    </>
  )
}

function Field({
  input: { name, label, kind, choices = [], is_optional, initial },
}: {
  readonly input: ActInput
}) {
  const id = useId()
  const common = { id, name, required: is_optional !== true, defaultValue: initial }
  return (
    <>
      <label htmlFor={id}>{label}</label>
      {kind === 'lines' && <textarea {...common} rows={2} maxLength={REASON_MAX} />}
      {kind === 'text' && <input {...common} autoComplete="off" />}
      {kind === 'time' && <input {...common} type="datetime-local" />}
      {kind === 'choice' && (
        <select {...common}>
          {choices.map((choice) => (
            <option key={choice} value={choice}>
              {choice.replaceAll('_', ' ')}
            </option>
          ))}
        </select>
      )}
    </>
  )
}
