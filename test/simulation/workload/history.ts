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
  /** The outcome of each command to the ledger that was answered. */
  readonly outcomes: Map<string, string>
  /** The public id of what each mutation of a ticket was answered with, by its merchant, method and key. */
  readonly support: Map<string, string>
  /** The payment that was last stored under each key, of which no merchant may know yet. */
  readonly stored: Map<string, string>
  /** The payments that were stored before a status was asked for, which found nothing. */
  readonly missed: string[]
  /** The refusals of withdrawals by the ledger that merchants were answered with. */
  readonly refusals: ShownRefusal[]
  /** What contradicts something that a merchant was shown before. */
  readonly problems: string[]
  /** The sum of all deposits whose success a callback has announced, by currency. */
  creditedOf(merchant_id: string): ReadonlyMap<string, number>
  /** The sum of all withdrawals that were asked for, whether they were accepted or not. */
  withdrawnOf(merchant_id: string, currency: string): number
  /** Records that a callback announced a success. */
  announce(record: PaymentRecord): void
}

/** Makes an empty history. */
export function createHistory(): History {
  const announced = new Set<PaymentRecord>()
  const payments = new Map<string, PaymentRecord>()
  return {
    payments,
    resends: new Map(),
    outcomes: new Map(),
    support: new Map(),
    stored: new Map(),
    missed: [],
    refusals: [],
    problems: [],
    announce: (record) => void announced.add(record),
    creditedOf(merchant_id) {
      const sums = new Map<string, number>()
      for (const record of announced) {
        if (record.merchant_id !== merchant_id || record.direction !== 'in') continue
        sums.set(record.currency, (sums.get(record.currency) ?? 0) + record.amount)
      }
      return sums
    },
    withdrawnOf(merchant_id, currency) {
      let sum = 0
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

/** The name of a payment in the history. */
export function recordKey(merchant_id: string, c_id: string): string {
  return `${merchant_id} ${c_id}`
}
