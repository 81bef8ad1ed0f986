import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import type { Act, Outcome, Preview } from '../../forms/act.ts'
import type { ShownField, Values } from '../../forms/fields.ts'
import {
  amountSentences,
  type Decision,
  fieldsOf,
  hasPreview,
  isDoneOnce,
  isReadAgain,
  isSamePreview,
  previewAct,
  reasonRule,
  requestOf,
  runAct,
} from '../../forms/run-act.ts'
import { type Problem, problemOf, type Repetition } from '../../values/problem.ts'
import { refreshPage } from '../call/use-rpc.ts'
import { Dialog } from '../parts/dialog.tsx'
import { ProblemNote } from '../parts/problem-note.tsx'
import { FormFields, REASON } from './form-fields.tsx'
import { Answer, Done, Sentences } from './outcome.tsx'
import { decisionOf } from './read-form.ts'
import { machineOf, useOperationIds } from './run-in-browser.ts'

type State =
  | {
      readonly step: 'asking'
      readonly problems?: Values | undefined
      readonly error?: unknown
      readonly answer?: Outcome
    }
  | { readonly step: 'sending'; readonly sentence: string; readonly preview: Preview | undefined }
  | {
      readonly step: 'counted'
      readonly preview: Preview
      /** Whether a person had read another preview before. */
      readonly has_changed?: boolean
      readonly error?: unknown
    }
  | { readonly step: 'done'; readonly outcome: Outcome }

/** Says what an act will do, shows its form, asks for a reason, and shows what the server answered. Nothing is shown as done before. */
export function ActDialog<T>({
  act,
  item,
  onClose,
}: {
  readonly act: Act<T>
  readonly item: T
  readonly onClose: () => void
}): ReactNode {
  // What is decided about is what the person has read, also when the resource changes meanwhile.
  const [read_item] = useState(item)
  const [fields] = useState(() => fieldsOf(act, item))
  const [state, setState] = useState<State>({ step: 'asking' })
  const operation_ids = useOperationIds(act, read_item)
  const preview = state.step === 'counted' || state.step === 'sending' ? state.preview : undefined
  const submit = async (event: FormEvent<HTMLFormElement>): Promise<void> => {
    event.preventDefault()
    const given = decisionOf(event.currentTarget, fields)
    const { problems } = requestOf(act, read_item, { ...given, operation_id: '' })
    if (Object.keys(problems).length > 0) return setState({ step: 'asking', problems })
    const is_known = isDoneOnce(act) && operation_ids.isKnown(given)
    const decision = { ...given, operation_id: operation_ids.idOf(given) }
    setState({ step: 'sending', sentence: 'Sending…', preview })
    try {
      // What was sent before without a clear answer is sent again as it was read then.
      const next = await send(act, read_item, decision, { preview, is_known }, (sentence) =>
        setState({ step: 'sending', sentence, preview }),
      )
      setState(is_known ? withRepetition(next) : next)
      // A dry run has done nothing: what was lost before is still unclear.
      if (next.step !== 'counted') operation_ids.noteDone()
    } catch (error) {
      operation_ids.noteFailure(error)
      const named = fieldNamed(problemOf(error), fields)
      setState(
        preview === undefined || named
          ? { step: 'asking', error, problems: named }
          : { step: 'counted', preview, error },
      )
    }
    // Also a refused or unclear call can have changed something.
    await refreshPage()
  }
  const has_secret = state.step === 'done' && state.outcome.secret !== undefined
  return (
    <Dialog title={act.name} onClose={onClose} is_kept={state.step === 'sending' || has_secret}>
      {state.step === 'done' ? (
        <Done outcome={state.outcome} onClose={onClose} />
      ) : (
        <ActForm
          act={act}
          item={read_item}
          fields={fields}
          state={state}
          onChange={() => state.step === 'counted' && setState({ step: 'asking' })}
          onSubmit={(event) => void submit(event)}
          onClose={onClose}
        />
      )}
    </Dialog>
  )
}

async function send<T>(
  act: Act<T>,
  item: T,
  decision: Decision,
  { preview, is_known }: { readonly preview: Preview | undefined; readonly is_known: boolean },
  progress: (sentence: string) => void,
): Promise<State> {
  const machine = machineOf(decision.reason, progress)
  if (hasPreview(act) && (preview === undefined || (isReadAgain(act) && !is_known))) {
    const present = await previewAct(act, item, decision, machine)
    if (preview === undefined || !isSamePreview(present, preview))
      return { step: 'counted', preview: present, has_changed: preview !== undefined }
  }
  const outcome = await runAct(act, item, decision, machine)
  // What only answers a question can be asked again with other values.
  return reasonRule(act) === 'none' ? { step: 'asking', answer: outcome } : { step: 'done', outcome }
}

/** Says that two equal requests were one act, after the answer to the first one was lost. */
function withRepetition(state: State): State {
  if (state.step !== 'done') return state
  const { sentences = [] } = state.outcome
  const repeated = 'The same request was sent before without a clear answer. Both together are done once.'
  return { step: 'done', outcome: { ...state.outcome, sentences: [...sentences, repeated] } }
}

/** The field of the form that a refusal names, with what is wrong with it. */
function fieldNamed({ field, message, wanted }: Problem, fields: readonly ShownField[]): Values | undefined {
  const named = fields.find(({ name }) => field === name || field.startsWith(`${name}.`))
  return named && { [named.name]: wanted === '' ? message : wanted }
}

function ActForm<T>({
  act,
  item,
  fields,
  state,
  onChange,
  onSubmit,
  onClose,
}: {
  readonly act: Act<T>
  readonly item: T
  readonly fields: readonly ShownField[]
  readonly state: Exclude<State, { readonly step: 'done' }>
  readonly onChange: () => void
  readonly onSubmit: (event: FormEvent<HTMLFormElement>) => void
  readonly onClose: () => void
}): ReactNode {
  const form = useRef<HTMLFormElement>(null)
  const [written, setWritten] = useState('')
  const preview = 'preview' in state ? state.preview : undefined
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was written confirms the preview that was read, and no other one
  useEffect(() => setWritten(''), [preview])
  const [amounts, setAmounts] = useState<readonly string[]>([])
  const { problems = {}, answer } = state.step === 'asking' ? state : {}
  const error = 'error' in state ? state.error : undefined
  useEffect(() => {
    if (Object.keys(problems).length > 0)
      form.current?.querySelector<HTMLElement>('[aria-invalid=true]')?.focus()
  }, [problems])
  const counts_first = hasPreview(act) && preview === undefined
  const confirm = counts_first ? undefined : (preview?.confirm ?? act.confirm?.(item))
  const is_idle = preview !== undefined && preview.confirm === undefined
  const reason_rule = reasonRule(act)
  const is_sending = state.step === 'sending'
  // What failed without a preview was the count, which changes nothing.
  const repetition: Repetition =
    counts_first || reason_rule === 'none' ? 'read' : isDoneOnce(act) ? 'once' : 'again'
  return (
    <form ref={form} onSubmit={onSubmit}>
      <Sentences>{act.effects(item)}</Sentences>
      <fieldset
        className="fields"
        disabled={is_sending}
        onChange={() => {
          if (form.current !== null)
            setAmounts(amountSentences(act, item, decisionOf(form.current, fields).values))
          onChange()
        }}
      >
        <FormFields fields={fields} problems={problems} />
        {reason_rule !== 'none' && (
          <FormFields
            fields={[{ ...REASON, ...(reason_rule === 'optional' && { is_optional: true }) }]}
            problems={{}}
          />
        )}
      </fieldset>
      {amounts.length > 0 && (
        <div aria-live="polite">
          <Sentences>{amounts}</Sentences>
        </div>
      )}
      {preview && (
        <div role="status" className="note waiting">
          {state.step === 'counted' && state.has_changed && (
            <strong>It has changed since you read it. Nothing is done yet.</strong>
          )}
          <Sentences>{preview.sentences}</Sentences>
        </div>
      )}
      {confirm !== undefined && (
        <label>
          Write <code>{confirm}</code> to confirm
          <input
            value={written}
            disabled={is_sending}
            autoComplete="off"
            onChange={({ target }) => setWritten(target.value)}
          />
        </label>
      )}
      {error !== undefined && <ProblemNote error={error} repetition={repetition} />}
      {answer && <Answer outcome={answer} />}
      <div className="acts">
        <button
          type="submit"
          className="main"
          disabled={is_sending || is_idle || (confirm !== undefined && written.trim() !== confirm)}
        >
          {is_sending
            ? state.sentence
            : counts_first
              ? (act.preview_name ?? 'Count them')
              : act.edits
                ? 'Save'
                : act.name}
        </button>
        <button type="button" disabled={is_sending} onClick={onClose}>
          {answer ? 'Close' : 'Cancel'}
        </button>
      </div>
    </form>
  )
}
