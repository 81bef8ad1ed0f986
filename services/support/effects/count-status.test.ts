import { expect, test } from '@jest/globals'
import { uuidv7 } from '#lib/base/ids.ts'
import { now } from '#lib/base/time.ts'
import { eventually } from '../../../test/support/eventually.ts'
import { countStatusEffect } from '../domain/counted-resource.ts'
import { newTicket } from '../tickets/domain/new-ticket.ts'
import { keyOfTicket } from '../tickets/store/tickets.ts'
import { openTickets } from '../tickets/tickets.fixture.ts'
import { bindCountStatus } from './count-status.ts'

// S11
test('a process that was paused does not count a change that another one has counted and forgotten', async () => {
  await using fixture = await openTickets()
  const { tickets, ticket_counts } = fixture.store
  const owner = { merchant_id: '1', environment: 'test' } as const
  const fields = {
    ...owner,
    c_id: 'a',
    title: 't',
    description: 'd',
    category: 'dispute',
    priority: 'low',
  } as const
  const context = { ticket_id: uuidv7(), payment: undefined, attachments: [] }
  const other = fixture.newProcess()
  const ticket = await other.runner.insert(newTicket(fields, context, now()))
  const counting = ticket.effects.find(countStatusEffect.matches)
  if (counting === undefined) throw new Error('the new ticket is not counted')

  const has_read = Promise.withResolvers<void>()
  const goes_on = Promise.withResolvers<void>()
  const pausing: typeof ticket_counts = {
    ...ticket_counts,
    async get(...call) {
      const found = await ticket_counts.get(...call)
      has_read.resolve()
      await goes_on.promise
      return found
    },
  }
  const resources = { collection: tickets, keyOf: keyOfTicket }
  const paused = bindCountStatus(pausing, resources).run(counting, ticket)
  await has_read.promise
  await other.runner.runEffects(ticket)
  await eventually(
    () => tickets.get(keyOfTicket(ticket)),
    (found) => found?.effects.length === 0,
  )
  goes_on.resolve()
  await paused

  const periods = await ticket_counts.find('key', { equals: ['1', 'test'] }, { limit: 10 })
  expect(periods.map(({ slots, counted }) => [Object.values(slots), counted])).toEqual([
    [[{ open: 1 }], []],
    [[{ open: 1 }], []],
  ])
})
