/** What a merchant knows of one of its payments. */
export interface PaymentRecord {
  readonly merchant_id: string
  readonly c_id: string
  readonly direction: 'in' | 'out'
  readonly service_id: number
  readonly amount: number
  readonly currency: string
  readonly webhook_origin: string | undefined
  /** The public id, once a response contained it. */
  h_id?: string
  /** Whether a response proved that the payment exists. */
  is_accepted: boolean
  /** The code of a refusal that says that nothing was stored. */
  refused_code?: number
  /** How many creates under this `c_id` got no conclusive response. */
  open_creates: number
  /** How many creates were sent. */
  creates: number
  /** How many clients may still send a create. */
  clients: number
  /** How many creates succeeded: at most one may. */
  created_responses: number
  /** The statuses in the order in which responses showed them. */
  readonly statuses: string[]
  /** Whether a refund or a chargeback of it may have been asked for. */
  may_be_returned?: boolean
  /** Whether its time in the test environment is over: it was deleted (O25). */
  is_ended?: boolean
}

/** The `webhook_url` of a payment, with a query of its own, as merchants use it; `undefined` without an origin. */
export function webhookUrlOf({
  webhook_origin,
  c_id,
}: Pick<PaymentRecord, 'webhook_origin' | 'c_id'>): string | undefined {
  return webhook_origin === undefined ? undefined : `${webhook_origin}/payment?order=${c_id}`
}

/** What a merchant knows of a refund that it has asked for. All its requests are the same. */
export interface RefundRecord {
  readonly merchant_id: string
  readonly c_id: string
  readonly payment: PaymentRecord
  /** Absent for all that remains of the payment. */
  readonly amount: number | undefined
  /** The public id, once a response contained it. */
  h_id?: string
  /** Whether its time in the test environment is over: it was deleted (O25). */
  is_ended?: boolean
}

/** What a merchant knows of a file that it sends, or the operator of one for a chargeback of the merchant. */
export interface FileRecord {
  readonly merchant_id: string
  readonly purpose: 'ticket' | 'ticket_comment' | 'chargeback_evidence'
  /** The number of its operations. */
  readonly number: number
  /** The announced bytes. No other file has the same. */
  readonly content: Buffer
  /** The public id, once a response contained it. */
  h_id?: string
  /** The path to which the bytes go, once a response contained it. */
  upload_path?: string
  /** Whether a response has said that the announced bytes have arrived, and that they were finalized. */
  is_uploaded?: boolean
  is_finalized?: boolean
  /** Whether other bytes than those that were announced may have been sent. */
  may_differ?: boolean
  /** The last final status that a response has shown. */
  final_status?: string
}

/** A withdrawal that was refused for funds or limits. */
export interface ShownRefusal extends Pick<PaymentRecord, 'merchant_id' | 'c_id' | 'amount' | 'currency'> {
  readonly code: number
}

/** What all merchants know, in the order in which they learned it. */
export interface History {
  readonly payments: Map<string, PaymentRecord>
  /** The delivery ids of each resend, by its operation id. */
  readonly resends: Map<string, string>
  /** What the operator may have taken from merchants, by merchant, currency and operation. */
  readonly taken: Map<string, number>
  /** The outcome of each command to the ledger that was answered. */
  readonly outcomes: Map<string, string>
  /** The refunds that merchants have asked for, by merchant and `c_id`. */
  readonly refunds: Map<string, RefundRecord>
  /** The files, by merchant and number. */
  readonly files: Map<string, FileRecord>
  /** The large files that merchants have announced, by merchant and number. They are never sent. */
  readonly large_files: Set<string>
  /** The digests of all bytes that the virus scanner has found clean. */
  readonly clean_files: Set<string>
  /** The deposits that responses or callbacks showed as paid, in that order. */
  readonly paid: Set<PaymentRecord>
  /** The public id of what each mutation of support was answered with, by its merchant, method and key. */
  readonly support: Map<string, string>
  /** The payment that was last stored under each key. No merchant may know of it yet. */
  readonly stored: Map<string, string>
  /** The payments that were stored before a status was asked for, which found nothing. */
  readonly missed: string[]
  /** The id of what each creation of the operator was answered with, by its kind and name. */
  readonly created: Map<string, string>
  /** The refusals of withdrawals by the ledger that merchants were answered with. */
  readonly refusals: ShownRefusal[]
  /** The dead deliveries that the operator has queued again. */
  readonly replayed: Set<string>
  /** The acts of the operator that owners have kept, and those that a document no longer has. */
  readonly acts: Set<string>
  readonly forgotten_acts: Set<string>
  /** The acts and approvals of a restored back office that had not ended before the backup began: their owners may have lost them. */
  readonly late_acts: Set<string>
  /** What contradicts something that a merchant was shown before. */
  readonly problems: string[]
  /** The deposits whose success a callback has announced. */
  creditedOf(merchant_id: string): readonly PaymentRecord[]
  /** The sum of all withdrawals that were asked for, whether they were accepted or not, and of what the operator took. */
  withdrawnOf(merchant_id: string, currency: string): number
  /** Records that a callback announced a success. */
  announce(record: PaymentRecord): void
}

/** Makes an empty history. */
export function createHistory(): History {
  const announced = new Set<PaymentRecord>()
  const payments = new Map<string, PaymentRecord>()
  const taken = new Map<string, number>()
  return {
    payments,
    taken,
    resends: new Map(),
    outcomes: new Map(),
    refunds: new Map(),
    files: new Map(),
    large_files: new Set(),
    clean_files: new Set(),
    paid: new Set(),
    support: new Map(),
    created: new Map(),
    stored: new Map(),
    missed: [],
    refusals: [],
    replayed: new Set(),
    acts: new Set(),
    forgotten_acts: new Set(),
    late_acts: new Set(),
    problems: [],
    announce: (record) => void announced.add(record),
    creditedOf(merchant_id) {
      return [...announced].filter(
        (record) => record.merchant_id === merchant_id && record.direction === 'in',
      )
    },
    withdrawnOf(merchant_id, currency) {
      let sum = 0
      for (const [name, amount] of taken)
        if (name.startsWith(`${recordKey(merchant_id, currency)} `)) sum += amount
      for (const record of payments.values()) {
        const { direction, amount } = record
        if (direction !== 'out' || record.merchant_id !== merchant_id || record.currency !== currency)
          continue
        sum += amount
      }
      return sum
    },
  }
}

/** Forgets what was deleted in the test environment, by its collection: its `c_id` is free, and merchants may not find it any more. */
export function forgetEnded(
  { payments, paid, stored, refunds, support }: History,
  name: string,
  { merchant_id, c_id }: Pick<PaymentRecord, 'merchant_id' | 'c_id'>,
): void {
  const key = recordKey(merchant_id, c_id)
  if (name === 'payments.payments') {
    const record = payments.get(key)
    if (record === undefined) return
    record.is_ended = true
    paid.delete(record)
    stored.delete(key)
  }
  const refund = name === 'support.refunds' ? refunds.get(key) : undefined
  if (refund === undefined) return
  refund.is_ended = true
  refunds.delete(key)
  support.delete(recordKey(merchant_id, `refund.request ${c_id}`))
}

/** The name of a payment in the history. */
export function recordKey(merchant_id: string, c_id: string): string {
  return `${merchant_id} ${c_id}`
}

/** The record of a payment before the first request for it. */
export function newPaymentRecord(
  identity: Pick<PaymentRecord, 'direction' | 'merchant_id' | 'c_id'>,
  request: Pick<PaymentRecord, 'service_id' | 'amount' | 'currency' | 'webhook_origin'>,
): PaymentRecord {
  const unknown = { is_accepted: false, open_creates: 0, creates: 0, clients: 0, created_responses: 0 }
  return { ...identity, ...request, ...unknown, statuses: [] }
}
