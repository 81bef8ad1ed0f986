import {
  added,
  type FieldsOf,
  INTEGER,
  listOf,
  optional,
  record,
  TEXT,
  TIME,
} from '#lib/base/stored-fields.ts'

/** What came of an act (O16). `unknown`: the process that acted was lost, and the owner cannot say whether it was done. */
export const AUDIT_OUTCOMES = ['done', 'refused', 'pending_approval', 'unknown'] as const

/** The name of an outcome. */
export type AuditOutcomeName = (typeof AUDIT_OUTCOMES)[number]

/** What an act changes or reveals, such as `payment` and its id. */
export interface AuditTarget {
  readonly kind: string
  readonly id: string
}

/** What a principal is about to do (O4). `request` and `reason` hold neither secrets nor personal data. */
export interface AuditIntent {
  readonly principal_id: string
  readonly principal_name: string
  /** Such as `multihub.balances.v1.BalanceService/Adjust`. */
  readonly rpc: string
  readonly merchant_id?: string | undefined
  readonly targets: readonly AuditTarget[]
  readonly reason?: string | undefined
  /** JSON. */
  readonly request: string
  readonly request_id: string
  /** When the call ends at the latest, by the clock of the store. */
  readonly deadline: Date
  readonly approval_id?: string | undefined
}

/** What came of an act. */
export interface AuditOutcome {
  readonly outcome: AuditOutcomeName
  /** The code of a refusal in the error table; 0 for one of the RPC layer without a code. */
  readonly error_code?: number | undefined
  /** JSON, as the owner had it before and after the act. */
  readonly before?: string | undefined
  readonly after?: string | undefined
  /** The approval that the act waits for. */
  readonly approval_id?: string | undefined
  readonly added?: AuditAddition | undefined
}

/**
 * What is known of an act only after it, such as the id of what it created (O4). An entry is found by these targets too, so its
 * principal, RPC and merchant are here again. A target of the kind `merchant` is the merchant of an act that had none.
 */
export interface AuditAddition {
  readonly principal_id: string
  readonly rpc: string
  readonly merchant_id?: string | undefined
  readonly targets: readonly AuditTarget[]
}

/** The record that an act begins with. */
export interface IntentRecord extends AuditIntent {
  readonly kind: 'intent'
  readonly audit_id: string
}

/** The record of what came of an act. A `completion` was concluded by another process, and yields to a known `outcome`. */
export interface OutcomeRecord extends AuditOutcome {
  readonly kind: 'outcome' | 'completion'
  readonly audit_id: string
}

/** One append-only record of the audit trail. */
export type AuditRecord = IntentRecord | OutcomeRecord

/** What names a record. A completion as done can follow one as unknown. */
export type RecordName = Pick<AuditRecord, 'kind' | 'audit_id'> & Partial<Pick<OutcomeRecord, 'outcome'>>

/** The name of a record, which is unique: an act has one intent, one outcome, and one completion of each kind at most. */
export function recordId({ kind, audit_id, outcome }: RecordName): string {
  return kind === 'completion' ? `${audit_id}:${kind}:${outcome}` : `${audit_id}:${kind}`
}

const TARGET = record<AuditTarget>({ kind: TEXT, id: TEXT })

/** How a stored intent is checked and hashed. WARNING: the order of the fields is part of every hash. */
const INTENT: FieldsOf<IntentRecord> = {
  kind: TEXT,
  audit_id: TEXT,
  principal_id: TEXT,
  principal_name: TEXT,
  rpc: TEXT,
  merchant_id: optional(TEXT),
  targets: listOf(TARGET),
  reason: optional(TEXT),
  request: TEXT,
  request_id: TEXT,
  deadline: TIME,
  approval_id: optional(TEXT),
}

const ADDITION: FieldsOf<AuditAddition> = {
  principal_id: TEXT,
  rpc: TEXT,
  merchant_id: optional(TEXT),
  targets: listOf(TARGET),
}

/** How a stored outcome is checked and hashed. WARNING: the order of the fields is part of every hash. */
const OUTCOME: FieldsOf<OutcomeRecord> = {
  kind: TEXT,
  audit_id: TEXT,
  outcome: TEXT,
  error_code: optional(INTEGER),
  before: optional(TEXT),
  after: optional(TEXT),
  approval_id: optional(TEXT),
  added: added(record(ADDITION)),
}

const FIELDS_OF = { intent: record(INTENT), outcome: record(OUTCOME), completion: record(OUTCOME) }

/** How a stored record is checked and hashed. */
export const STORED_RECORD = {
  isValid(value: unknown): boolean {
    const fields = fieldsOf(value)
    return fields?.isValid(value) ?? false
  },
  toJson: (value: unknown): unknown => fieldsOf(value)?.toJson(value),
}

function fieldsOf(value: unknown): ReturnType<typeof record> | undefined {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return undefined
  const { kind } = value
  return typeof kind === 'string' && Object.hasOwn(FIELDS_OF, kind)
    ? FIELDS_OF[kind as AuditRecord['kind']]
    : undefined
}

/** The longest reason (O4), id, name and JSON in characters. */
const REASON_MAX = 500
const TEXT_MAX = 128
const JSON_MAX = 16_384
const TARGETS_MAX = 8

/** An intent as it is stored: every part has a limit, because the request was not checked yet. */
export function boundedIntent(intent: AuditIntent): AuditIntent {
  const { merchant_id, reason, approval_id } = intent
  return {
    principal_id: boundedText(intent.principal_id),
    principal_name: boundedText(intent.principal_name),
    rpc: boundedText(intent.rpc),
    merchant_id: merchant_id === undefined ? undefined : boundedText(merchant_id),
    targets: boundedTargets(intent.targets),
    reason: reason === undefined ? undefined : boundedText(reason, REASON_MAX),
    request: boundedJson(intent.request),
    request_id: boundedText(intent.request_id),
    deadline: intent.deadline,
    approval_id: approval_id === undefined ? undefined : boundedText(approval_id),
  }
}

/** An outcome as it is stored. */
export function boundedOutcome({
  outcome,
  error_code,
  before,
  after,
  approval_id,
  added,
}: AuditOutcome): AuditOutcome {
  return {
    outcome,
    error_code,
    before: before === undefined ? undefined : boundedJson(before),
    after: after === undefined ? undefined : boundedJson(after),
    approval_id,
    added: added && {
      principal_id: boundedText(added.principal_id),
      rpc: boundedText(added.rpc),
      merchant_id: added.merchant_id === undefined ? undefined : boundedText(added.merchant_id),
      targets: boundedTargets(added.targets),
    },
  }
}

/** The targets that an outcome adds to an intent; `undefined` when the intent has them all. */
export function additionTo(
  { principal_id, rpc, merchant_id, targets: known }: AuditIntent,
  targets: readonly AuditTarget[],
): AuditAddition | undefined {
  const added = targets.filter(({ kind, id }) => !known.some((one) => one.kind === kind && one.id === id))
  return added.length === 0 ? undefined : { principal_id, rpc, merchant_id, targets: added }
}

function boundedTargets(targets: readonly AuditTarget[]): AuditTarget[] {
  return targets
    .slice(0, TARGETS_MAX)
    .map(({ kind, id }) => ({ kind: boundedText(kind), id: boundedText(id) }))
}

function boundedText(text: string, characters_max = TEXT_MAX): string {
  // A character is at most two units, which a cut must not separate.
  return [...text.slice(0, 2 * characters_max)].slice(0, characters_max).join('').toWellFormed()
}

/** JSON that is too long is left out, because its beginning would not be JSON. */
function boundedJson(json: string): string {
  return json.length > JSON_MAX ? `{"omitted_characters":${json.length}}` : json.toWellFormed()
}

/** The name of a sign-in in the place of an RPC. */
export const SIGN_IN = 'multihub.backoffice.v1.Session/SignIn'
