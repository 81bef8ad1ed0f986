import type { TicketPriority, TicketStatus } from '#lib/contract/ticket.ts'

/** A ticket as the model knows it. `h_id` is the one thing that it learns from the system. */
export interface ModelTicket {
  readonly c_id: string
  readonly category: string
  readonly created_ms: number
  readonly payment?: string
  h_id: string
  status: TicketStatus
  priority: TicketPriority
  description: string
  is_deleted: boolean
  readonly comments: { readonly body: string; readonly is_internal: boolean }[]
}

/** The moves of the operator that S4 permits. */
const MOVES: Readonly<Record<TicketStatus, readonly TicketStatus[]>> = {
  open: ['in_progress', 'waiting_customer', 'on_hold', 'resolved', 'closed', 'canceled'],
  in_progress: ['waiting_customer', 'on_hold', 'resolved', 'closed', 'canceled'],
  waiting_customer: ['in_progress', 'on_hold', 'resolved', 'closed', 'canceled'],
  on_hold: ['in_progress', 'waiting_customer', 'resolved', 'closed', 'canceled'],
  resolved: ['closed'],
  closed: [],
  canceled: [],
}

const HOUR_MS = 3_600_000

/**
 * A naive model of tickets, in its own words: it keeps everything in one list. Each action returns the code of the refusal,
 * or 0.
 */
export function createTicketModel() {
  const tickets: ModelTicket[] = []
  const operations = new Map<string, { readonly payload: string; readonly ticket: ModelTicket }>()
  const find = (c_id: string): ModelTicket | undefined =>
    tickets.find((ticket) => ticket.c_id === c_id && !ticket.is_deleted)

  /** Runs `act` once per key. The result of `act` is a refusal or the ticket. */
  function once(key: string, payload: unknown, act: () => number | ModelTicket): number {
    const text = JSON.stringify(payload)
    const earlier = operations.get(key)
    if (earlier && earlier.payload !== text) return 1013
    if (earlier) return earlier.ticket.is_deleted ? 10001 : 0
    const result = act()
    if (typeof result === 'number') return result
    operations.set(key, { payload: text, ticket: result })
    return 0
  }

  return {
    tickets,
    find,
    create(
      c_id: string,
      fields: Pick<ModelTicket, 'category' | 'priority' | 'description' | 'payment' | 'created_ms'>,
    ): number {
      const { created_ms: _, ...payload } = fields
      return once(`create ${c_id}`, payload, () => {
        const { payment } = fields
        if (payment === 'pay-0') return 10001
        if (payment && tickets.some((other) => other.payment === payment && !other.is_deleted)) return 10002
        const ticket = { ...fields, c_id, h_id: '', status: 'open' as const, is_deleted: false, comments: [] }
        tickets.push(ticket)
        return ticket
      })
    },
    edit(c_id: string, key: string, description: string, at_ms: number): number {
      return once(`edit ${key}`, [c_id, description], () => {
        const ticket = find(c_id)
        if (!ticket) return 10001
        if (at_ms - ticket.created_ms > HOUR_MS) return 10004
        ticket.description = description
        return ticket
      })
    },
    reopen(c_id: string, key: string): number {
      return once(`reopen ${key}`, [c_id], () => {
        const ticket = find(c_id)
        if (!ticket) return 10001
        if (!['resolved', 'closed'].includes(ticket.status)) return 10003
        ticket.status = 'open'
        return ticket
      })
    },
    comment(c_id: string, key: string, body: string): number {
      return once(`comment ${key}`, [c_id, body], () => {
        const ticket = find(c_id)
        if (!ticket) return 10001
        if (['closed', 'canceled'].includes(ticket.status)) return 10003
        ticket.comments.push({ body, is_internal: false })
        if (ticket.status === 'waiting_customer') ticket.status = 'in_progress'
        return ticket
      })
    },
    answer(c_id: string, body: string, is_internal: boolean): number {
      const ticket = find(c_id)
      if (!ticket) return 10001
      if (!is_internal && ['closed', 'canceled'].includes(ticket.status)) return 10003
      ticket.comments.push({ body, is_internal })
      return 0
    },
    ...operatorActions(find),
  }
}

function operatorActions(find: (c_id: string) => ModelTicket | undefined) {
  return {
    move(c_id: string, status: TicketStatus): number {
      const ticket = find(c_id)
      if (!ticket) return 10001
      if (ticket.status === status) return 0
      if (!MOVES[ticket.status].includes(status)) return 10003
      ticket.status = status
      return 0
    },
    prioritize(c_id: string, priority: TicketPriority): number {
      const ticket = find(c_id)
      if (!ticket) return 10001
      ticket.priority = priority
      return 0
    },
    remove(c_id: string): number {
      const ticket = find(c_id)
      if (!ticket) return 10001
      ticket.is_deleted = true
      return 0
    },
  }
}

/** The model of one merchant. */
export type TicketModel = ReturnType<typeof createTicketModel>
