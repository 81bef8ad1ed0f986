import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { AttachmentPurpose } from '#gen/multihub/attachments/v1/attachment_pb.ts'
import { Environment } from '#gen/multihub/common/v1/environment_pb.ts'
import { useClock } from '#lib/base/time.ts'
import { CLAIM_CHECK_MS, CLAIM_USE_MS } from '#lib/patterns/attachment-claim.ts'
import type { Role } from '#lib/role/role.ts'
import {
  type AttachmentsFixture,
  sha256Of,
  startAttachments,
  TEXT,
} from '../../services/attachments/attachments.fixture.ts'
import { checkClaimEffect } from '../../services/attachments/domain/attachment-effects.ts'
import { openAttachmentsStore } from '../../services/attachments/store/attachments-store.ts'
import { storeCommentEffect } from '../../services/support/comments/domain/comment.ts'
import { createComment } from '../../services/support/comments/use-cases/comments.ts'
import { createAttachmentUseRpc } from '../../services/support/rpc/attachment-use-service.ts'
import { fileUsers } from '../../services/support/service.ts'
import { openTickets, type TicketsFixture } from '../../services/support/tickets/tickets.fixture.ts'
import { ticketComments } from '../../services/support/tickets/use-cases/comment-ticket.ts'
import {
  type CreateTicketRequest,
  createTicket,
} from '../../services/support/tickets/use-cases/create-ticket.ts'
import { findTicket } from '../../services/support/tickets/use-cases/find-ticket.ts'
import { remove } from '../../services/support/tickets/use-cases/operate-ticket.ts'
import type { TicketDeps } from '../../services/support/tickets/use-cases/update-ticket.ts'
import type { AttachmentClaims } from '../../services/support/use-cases/claim-attachments.ts'
import { createAdjustableClock } from '../support/adjustable-clock.ts'
import { eventually } from '../support/eventually.ts'

const clock = createAdjustableClock()
let restoreClock: () => void
let tickets: TicketsFixture
let files: AttachmentsFixture
/** Called while support answers whether a claim is used. */
let duringCheck: () => Promise<unknown> = async () => undefined
beforeAll(async () => {
  restoreClock = useClock(clock)
  tickets = await openTickets()
  files = await startAttachments({ MULTIHUB_SCANNER: 'none' }, { others: [supportOver(tickets)] })
})
afterAll(async () => {
  await files?.[Symbol.asyncDispose]()
  await tickets?.[Symbol.asyncDispose]()
  restoreClock()
})

/** The support role as the attachments service calls it. */
function supportOver({ store }: TicketsFixture): Role {
  const users = fileUsers({
    ...store,
    tickets: {
      ...store.tickets,
      async find(...call) {
        const found = await store.tickets.find(...call)
        await duringCheck()
        return found
      },
    },
  })
  const rpc = createAttachmentUseRpc(users)
  return {
    name: 'support',
    settings: {},
    start: async () => ({ services: [rpc], stop: async () => undefined }),
  }
}

/** The claims of a process that crashes before it stores what uses them. */
const crashed_after_claim: AttachmentClaims = {
  async claimAttachments(request) {
    await files.support.claimAttachments(request)
    throw new Error('this process has crashed')
  },
  releaseAttachments: () => Promise.reject(new Error('this process has crashed')),
}

interface Owner {
  readonly merchant_id: string
  readonly environment: 'test'
}

const newOwner = (): Owner => ({ merchant_id: randomUUID(), environment: 'test' })

/** Creates a ticket with files, or a comment of the ticket `subject` with files. */
type Use = (deps: TicketDeps, owner: Owner, c_id: string, attachment_ids: string[]) => Promise<unknown>

const newTicket: Use = (deps, owner, c_id, attachment_ids) =>
  createTicket(deps, ticketRequest(owner, c_id, attachment_ids))

/** Creates a ticket about the merchant's payment. It has one at most that is not deleted. */
const newPaymentTicket: Use = (deps, owner, c_id, attachment_ids) =>
  createTicket(deps, { ...ticketRequest(owner, c_id, attachment_ids), payment_c_id: 'pay-1' })

function ticketRequest(owner: Owner, c_id: string, attachment_ids: string[]): CreateTicketRequest {
  return {
    ...owner,
    c_id,
    title: 't',
    description: 'd',
    category: 'bug',
    priority: 'low',
    attachment_ids,
    payload_hash: 'create',
    policy: { service_ids: [], currencies: [] },
  }
}

const newComment: Use = (deps, owner, key, attachment_ids) =>
  createComment(ticketComments(deps), {
    ...owner,
    key,
    payload_hash: key,
    body: 'see',
    attachment_ids,
    thread: { ...owner, by: 'c_id', id: 'subject' },
  })

async function attachmentOf({ merchant_id, environment }: Owner, attachment_id: string) {
  const { attachments } = await openAttachmentsStore(files.roles.storeOf('attachments'))
  return attachments.get({ merchant_id, environment, attachment_id })
}

/** Lets the check of a claim run. Returns what uses the file then. */
async function userOf(owner: Owner, attachment_id: string): Promise<string | undefined> {
  clock.stepWall(CLAIM_CHECK_MS)
  const checked = await eventually(
    () => attachmentOf(owner, attachment_id),
    (file) => file?.effects.some(checkClaimEffect.matches) === false,
  )
  return checked?.claim?.used_by
}

const CASES: readonly [string, AttachmentPurpose, Use][] = [
  ['ticket', AttachmentPurpose.TICKET, newTicket],
  ['comment', AttachmentPurpose.TICKET_COMMENT, newComment],
]

// F7
describe.each(CASES)('a file of a new %s', (_name, purpose, use) => {
  test('is free again when its process crashed before it was stored, and used when it was stored', async () => {
    const outcomes: string[] = []
    for (let writes_max = -1; outcomes.at(-1) !== 'done'; writes_max += 1) {
      const owner = newOwner()
      const survivor = tickets.newProcess(undefined, files.support)
      await newTicket(survivor.deps, owner, 'subject', [])
      const id = await files.ready({ merchant_id: owner.merchant_id, purpose })
      const mortal =
        writes_max < 0
          ? tickets.newProcess(undefined, crashed_after_claim)
          : tickets.newProcess(writes_max, files.support)
      const outcome = await use(mortal.deps, owner, 'first', [id]).then(
        () => 'done',
        () => 'crashed',
      )
      await mortal.runner.stop()
      const was_claimed = (await attachmentOf(owner, id))?.claim !== undefined
      const left = await userOf(owner, id)
      const second = await use(survivor.deps, owner, 'second', [id]).then(
        () => 'free',
        (error: unknown) => error,
      )
      if (left === undefined) expect(second).toBe('free')
      else expect(second).toMatchObject({ code: 9000 })
      outcomes.push(outcome === 'done' ? 'done' : `${was_claimed}, then ${left === undefined}`)
      await survivor.runner.stop()
    }
    // Claimed and not stored, so free again; nothing claimed; stored, so used.
    const expected = ['true, then true', 'false, then true', 'true, then false', 'done']
    expect(new Set(outcomes)).toEqual(new Set(expected))
  })

  test('stays used when the request is repeated while the claim of its crashed try is checked', async () => {
    const owner = newOwner()
    const survivor = tickets.newProcess(undefined, files.support)
    await newTicket(survivor.deps, owner, 'subject', [])
    const id = await files.ready({ merchant_id: owner.merchant_id, purpose })
    const mortal = tickets.newProcess(undefined, crashed_after_claim)
    await expect(use(mortal.deps, owner, 'first', [id])).rejects.toThrow('crashed')
    await mortal.runner.stop()
    let repetitions = 0
    duringCheck = async () => {
      if (repetitions > 0) return
      repetitions += 1
      await use(survivor.deps, owner, 'first', [id])
    }
    clock.stepWall(CLAIM_CHECK_MS)
    await eventually(
      async () => repetitions,
      (count) => count === 1,
    )
    duringCheck = async () => undefined
    await use(survivor.deps, owner, 'first', [id])
    expect(await userOf(owner, id)).toMatch(/^(ticket|comment):/)
    await survivor.runner.stop()
  })

  test('is not used by a call that stores late, because its claim may have ended', async () => {
    const owner = newOwner()
    const claim_late: AttachmentClaims = {
      ...files.support,
      async claimAttachments(request) {
        const claimed = await files.support.claimAttachments(request)
        clock.stepWall(CLAIM_USE_MS)
        return claimed
      },
    }
    const late = tickets.newProcess(undefined, claim_late)
    await newTicket(late.deps, owner, 'subject', [])
    const id = await files.ready({ merchant_id: owner.merchant_id, purpose })
    await expect(use(late.deps, owner, 'first', [id])).rejects.toThrow('too long ago')
    expect(await userOf(owner, id)).toBeUndefined()
    await late.runner.stop()
  })
})

/** Deletes the ticket of the merchant's payment, and creates another one without files in its place. */
async function replaceTicket(deps: TicketDeps, owner: Owner, from: string, to: string): Promise<void> {
  const { ticket_id } = await findTicket(deps.tickets, { ...owner, by: 'c_id', id: from })
  await remove(deps, ticket_id)
  await newPaymentTicket(deps, owner, to, [])
}

// S2, F7
describe('when the operator has deleted a ticket and others have taken its place', () => {
  test('its file stays used', async () => {
    const owner = newOwner()
    const { deps, runner } = tickets.newProcess(undefined, files.support)
    const id = await files.ready({ merchant_id: owner.merchant_id })
    await newPaymentTicket(deps, owner, 'first', [id])
    await replaceTicket(deps, owner, 'first', 'second')
    await replaceTicket(deps, owner, 'second', 'third')
    expect(await userOf(owner, id)).toMatch(/^ticket:/)
    await expect(newTicket(deps, owner, 'other', [id])).rejects.toMatchObject({ code: 9000 })
    await runner.stop()
  })

  test('the file of its comment stays used, also of one that its crashed process has not stored', async () => {
    let unstored = 0
    for (let writes_max = 0; ; writes_max += 1) {
      const owner = newOwner()
      const { deps, runner } = tickets.newProcess(undefined, files.support)
      await newPaymentTicket(deps, owner, 'subject', [])
      const purpose = AttachmentPurpose.TICKET_COMMENT
      const id = await files.ready({ merchant_id: owner.merchant_id, purpose })
      const mortal = tickets.newProcess(writes_max, files.support)
      const outcome = await newComment(mortal.deps, owner, 'comment', [id]).then(
        () => 'done',
        () => 'crashed',
      )
      await mortal.runner.stop()
      const ticket = await findTicket(deps.tickets, { ...owner, by: 'c_id', id: 'subject' })
      const was_accepted = ticket.last_comment_at !== undefined
      unstored += Number(ticket.effects.some(storeCommentEffect.matches))
      await replaceTicket(deps, owner, 'subject', 'second')
      const left = await userOf(owner, id)
      expect(left?.startsWith('comment:') ?? false).toBe(was_accepted)
      await runner.stop()
      if (outcome === 'done') break
    }
    expect(unstored).toBeGreaterThan(0)
  })
})

// S10, F7
test('evidence that was claimed for a chargeback is free again when it was not added', async () => {
  const owner = newOwner()
  const session = await files.operator.prepareEvidence({
    merchantId: owner.merchant_id,
    environment: Environment.TEST,
    operationId: randomUUID(),
    file: { name: 'a.txt', mimeType: 'text/plain', sizeBytes: BigInt(TEXT.length), sha256: sha256Of(TEXT) },
  })
  const id = session.attachment?.attachmentId ?? ''
  await files.put(session.upload?.path ?? '', TEXT)
  const identity = { merchantId: owner.merchant_id, environment: Environment.TEST, attachmentId: id }
  await files.operator.finalizeEvidence({ ...identity, operationId: randomUUID() })
  await eventually(
    () => attachmentOf(owner, id),
    (file) => file?.status === 'ready',
  )
  const claim = { ...identity, attachmentIds: [id], purpose: AttachmentPurpose.CHARGEBACK_EVIDENCE }
  await files.support.claimAttachments({ ...claim, usedBy: `chargeback:${randomUUID()}`, callId: 'call' })
  expect(await userOf(owner, id)).toBeUndefined()
})
