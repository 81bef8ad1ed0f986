import type { DescMessage, MessageInitShape } from '@bufbuild/protobuf'
import { readAmount } from '#lib/contract/amount-input.ts'
import { currencyOf } from '../values/amount-fields.ts'
import { type Act, type ChosenFile, moneyWords, type Outcome, type Preview, type Running } from './act.ts'
import { readFields, type ShownField, shownField, type Values } from './fields.ts'
import { OPERATOR_RIGHTS } from './operator-rights.ts'

/** What the table of the operator's RPCs says of an act: which rights it needs, and whether it changes something. */
export function rulesOf<T>({ method, rights }: Act<T>) {
  // A test fails for an RPC that is not in the table. Nobody is offered its act.
  const words = OPERATOR_RIGHTS[`${method.parent.typeName.replace('multihub.', '')}/${method.name}`] ?? ''
  const all = words.split(' ')
  return {
    rights: rights ?? all.filter((word) => word !== 'changes' && word !== 'merchants'),
    changes: all.includes('changes'),
    for_merchants: all.includes('merchants'),
  }
}

/** Whether a person must, may or need not say why. */
export function reasonRule<T>(act: Act<T>): 'required' | 'optional' | 'none' {
  return act.reason ?? (rulesOf(act).changes ? 'required' : 'none')
}

/** The fields of the form of an act, besides the reason. */
export function fieldsOf<T>({ fields, method, edits = false }: Act<T>, item: T): readonly ShownField[] {
  return (fields?.(item) ?? []).map((field) => shownField(field, method.input, edits ? item : undefined))
}

/** Whether a person is shown first what an act would do. */
export function hasPreview<T>({ method, previewed_by }: Act<T>): boolean {
  return previewed_by !== undefined || has(method.input, 'dry_run')
}

/** What a person has decided in the form of an act. */
export interface Decision {
  readonly values: Values
  readonly reason: string
  readonly operation_id: string
  readonly file?: ChosenFile | undefined
}

/** The request of a decision, or what is wrong with fields of the form, by their names. Unreadable values are never left out. */
export function requestOf<T>(
  act: Act<T>,
  item: T,
  { values, reason, operation_id }: Omit<Decision, 'file'>,
): { readonly request: MessageInitShape<DescMessage>; readonly problems: Values } {
  const { input } = act.method
  const { edits = false } = act
  const fields = fieldsOf(act, item)
  const currency = values['currency'] ?? currencyOf(item)
  const { request, problems } = readFields(fields, values, input, { currency, edits })
  const is_unchanged = edits && fields.every(({ name, initial }) => (values[name] ?? '') === initial)
  const [first] = fields
  return {
    request: {
      ...request,
      ...act.request?.(item, values),
      ...(isDoneOnce(act) && { operationId: operation_id }),
      ...(has(input, 'reason') && { reason }),
    },
    problems: is_unchanged && first ? { [first.name]: 'Nothing is changed yet.', ...problems } : problems,
  }
}

/** The amounts that a person has written, as the server gets them, such as `Amount: 1,250.00 INR`. Unreadable ones are left out. */
export function amountSentences<T>(act: Act<T>, item: T, values: Values): readonly string[] {
  const currency = values['currency'] ?? currencyOf(item)
  return fieldsOf(act, item).flatMap(({ name, label, kind, initial }) => {
    const text = values[name] ?? ''
    if (kind !== 'amount' || text.trim() === '' || text === initial) return []
    try {
      return [`${label}: ${moneyWords({ minor: readAmount(text, currency), currency })}`]
    } catch {
      return []
    }
  })
}

/** Whether a repetition of an act is done once: its request names the operation. */
export function isDoneOnce<T>({ method }: Act<T>): boolean {
  return has(method.input, 'operation_id')
}

/** The parts of the browser that acts need. */
export type Machine = Pick<Running<unknown>, 'call' | 'upload' | 'progress' | 'pause'>

/** Answers what an act would do, without effect: by its other RPC, or by its own with `dry_run`. */
export async function previewAct<T>(
  act: Act<T>,
  item: T,
  decision: Decision,
  machine: Machine,
): Promise<Preview> {
  const { method, previewed_by } = act
  const running = runningOf({ ...act, method: previewed_by ?? method }, item, decision, machine)
  const answer = await (previewed_by === undefined
    ? machine.call(method, { ...running.request, dryRun: true })
    : machine.call(previewed_by, running.request))
  return (await act.preview?.(answer, running)) ?? { sentences: [] }
}

/**
 * Whether the preview is read again before the act, and shown again where it has changed. A count of many things by a dry run changes all
 * the time, so it is not.
 */
export function isReadAgain<T>({ previewed_by }: Act<T>): boolean {
  return previewed_by !== undefined
}

/** Whether two previews say the same, so that what a person has read still holds. */
export function isSamePreview(one: Preview, other: Preview): boolean {
  return JSON.stringify([one.sentences, one.confirm]) === JSON.stringify([other.sentences, other.confirm])
}

/** Does an act, and answers what to show of it. */
export async function runAct<T>(
  act: Act<T>,
  item: T,
  decision: Decision,
  machine: Machine,
): Promise<Outcome> {
  const running = runningOf(act, item, decision, machine)
  if (act.run !== undefined) return act.run(running)
  const answer = await machine.call(act.method, running.request)
  return act.outcome?.(answer, item) ?? {}
}

function runningOf<T>(act: Act<T>, item: T, decision: Decision, machine: Machine): Running<T> {
  const { reason, operation_id, file } = decision
  const { request } = requestOf(act, item, decision)
  return { item, request, reason, operation_id, file, ...machine }
}

function has({ fields }: DescMessage, name: string): boolean {
  return fields.some((field) => field.name === name)
}
