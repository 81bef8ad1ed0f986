import type { Fault } from './fault-proxy.ts'

/** What becomes of a payment that a client creates through a proxy with these faults. */
export interface Scenario {
  readonly name: string
  readonly faults: readonly Fault[]
  /** `created` is a signed answer with the payment, `unknown` an error that says that it may exist, a number a refusal. */
  readonly outcome: 'created' | 'unknown' | number
  readonly method?: 'payment.in' | 'payment.out'
  /** More than the balance holds. */
  readonly is_too_much?: true
  /** How often the create is sent at least. */
  readonly sends?: number
  /** What the error carries of an unsigned answer. */
  readonly text?: string
}

/** One table for the clients of all languages. After an `unknown` the test resumes the payment without faults. */
export const SCENARIOS: readonly Scenario[] = [
  { name: 'nothing fails', faults: ['pass'], outcome: 'created' },
  {
    name: 'a deposit whose answer is lost',
    faults: ['drop_after', 'pass'],
    outcome: 'created',
    method: 'payment.in',
  },
  { name: 'the request is lost', faults: ['drop_before', 'pass'], outcome: 'created', sends: 2 },
  { name: 'the answer is lost', faults: ['drop_after', 'pass'], outcome: 'created' },
  { name: 'the look-up overtakes the create', faults: ['late', 'pass'], outcome: 'created', sends: 2 },
  {
    name: 'two creates are overtaken',
    faults: ['late', 'drop_before', 'late', 'pass'],
    outcome: 'created',
    sends: 2,
  },
  { name: 'the answer does not come', faults: ['hang', 'pass'], outcome: 'created' },
  { name: 'the request arrives twice', faults: ['repeat', 'pass'], outcome: 'created' },
  { name: 'the answer is cut', faults: ['truncate', 'pass'], outcome: 'created' },
  { name: 'the connection breaks in the answer', faults: ['break_off', 'pass'], outcome: 'created' },
  { name: 'a byte of the answer is altered', faults: ['alter', 'pass'], outcome: 'created' },
  { name: 'the answer is the one of another request', faults: ['stale', 'pass'], outcome: 'created' },
  { name: 'the answer is an older refusal', faults: ['old_refusal', 'pass'], outcome: 'created' },
  { name: 'every answer is an older refusal', faults: ['old_refusal'], outcome: 'unknown' },
  { name: 'a flood is refused without a signature', faults: ['unsigned_429', 'pass'], outcome: 'created' },
  {
    name: 'one answer is an unsigned refusal of the credential',
    faults: ['unsigned_3001', 'pass'],
    outcome: 'created',
    sends: 2,
  },
  { name: 'the answer is larger than any', faults: ['huge', 'pass'], outcome: 'created' },
  {
    name: 'the look-up fails too, in three ways',
    faults: ['drop_after', 'drop_before', 'alter', 'truncate', 'pass'],
    outcome: 'created',
  },
  { name: 'no answer arrives', faults: ['drop_after'], outcome: 'unknown' },
  { name: 'every answer is altered', faults: ['alter'], outcome: 'unknown' },
  {
    name: 'every answer is an unsigned refusal',
    faults: ['unsigned_3001'],
    outcome: 'unknown',
    text: 'no application id',
  },
  {
    name: 'a refusal after a lost request',
    faults: ['drop_before', 'pass'],
    outcome: 6004,
    is_too_much: true,
  },
  {
    name: 'a refusal whose answer is lost',
    faults: ['drop_after', 'pass'],
    outcome: 6004,
    is_too_much: true,
  },
]
