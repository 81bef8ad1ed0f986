import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { ACT_SERVICES, nameOfRpc, OPERATOR_RPCS } from '../../services/backoffice/domain/operator-rpcs.ts'
import { RIGHTS } from '../../services/backoffice/domain/rights.ts'
import { type ActsWorld, PLANTED, STUCK, startActsWorld } from './kept-acts.fixture.ts'

type Make = (world: ActsWorld) => object | Promise<object>

const op = () => ({ operationId: randomUUID() })
const inr = { minor: '5', currency: 'INR' }
const SETTLE = 'multihub.balances.v1.BalanceService/Settle'

/**
 * For each RPC of the operator that changes something, a request that really changes something. A new RPC needs its row here. When
 * its test fails, the collection that it changes lacks `...ACT_INDEX` in its indexes (lib/store/kept-acts.ts); no other code is
 * needed. The rows run in their order.
 */
const ACTS: Readonly<Record<string, Make>> = {
  'merchants.v1.MerchantService/CreateMerchant': () => ({
    name: 'beta',
    timezone: 'UTC',
    environments: ['ENVIRONMENT_TEST'],
    ...op(),
  }),
  'merchants.v1.MerchantService/UpdateMerchant': ({ merchant_id }) => ({
    merchantId: merchant_id,
    timezone: 'UTC',
  }),
  'merchants.v1.CredentialService/CreateCredential': ({ scope }) => ({
    ...scope,
    apiVersion: 'API_VERSION_V1',
    ...op(),
  }),
  'merchants.v1.CredentialService/UpdateCredential': async (world) => ({
    applicationId: (await world.credential()).application_id,
    status: 'CREDENTIAL_STATUS_DISABLED',
  }),
  'merchants.v1.CredentialService/RotateSecret': async (world) => ({
    applicationId: (await world.credential()).application_id,
    overlapSeconds: 60,
    ...op(),
  }),
  'merchants.v1.RouteService/CreateRoute': ({ scope }) => ({
    ...scope,
    direction: 'DIRECTION_IN',
    method: 'imps',
    currency: 'INR',
    connector: 'sandbox',
    providerAccounts: ['sandbox'],
    ...op(),
  }),
  'merchants.v1.RouteService/UpdateRoute': ({ service_id }) => ({
    serviceId: service_id,
    expiresInSeconds: 900,
  }),
  'merchants.v1.EndpointService/CreateEndpoint': ({ scope }) => ({
    ...scope,
    url: `http://127.0.0.1:1025/${PLANTED}`,
    events: ['payment.completed'],
    ...op(),
  }),
  'merchants.v1.EndpointService/UpdateEndpoint': async (world) => ({
    endpointId: await world.endpoint(),
    timeoutSeconds: 7,
  }),
  'merchants.v1.EndpointService/RotateEndpointSecret': async (world) => ({
    endpointId: await world.endpoint(),
    ...op(),
  }),
  'payments.v1.PaymentService/ResolveAnomaly': async (world) => ({
    anomalyId: await world.anomaly(),
    resolution: 'ANOMALY_RESOLUTION_KIND_DISMISSED',
    note: PLANTED,
    ...op(),
  }),
  'payments.v1.PaymentService/RetryEffect': async (world) => ({
    paymentId: await world.stuckPayment(),
    effectId: STUCK,
  }),
  'backoffice.v1.PersonalDataService/ErasePerson': async (world) => ({
    merchantId: world.merchant_id,
    paymentId: (await world.payment()).payment_id,
  }),
  'payments.v1.ProviderAccountService/ConfirmAccountMoved': () => ({ accountId: 'sandbox', ...op() }),
  'balances.v1.BalanceService/Adjust': ({ scope }) => ({ ...scope, amount: inr, reason: PLANTED, ...op() }),
  'balances.v1.BalanceService/Settle': ({ scope }) => ({ ...scope, currency: 'INR', ...op() }),
  'balances.v1.VerificationService/StartVerification': () => ({}),
  'balances.v1.VerificationService/ResumeShard': async (world) => ({
    ...(await world.stoppedShard()),
    reason: PLANTED,
    ...op(),
  }),
  'backoffice.v1.CallbackService/TriggerEvent': async (world) => ({
    merchantId: world.merchant_id,
    applicationId: (await world.credential()).application_id,
    event: 'ticket.status_changed',
    ...op(),
  }),
  'support.v1.TicketService/MoveTicket': async (world) => ({
    ticketId: await world.ticket(),
    status: 'TICKET_STATUS_IN_PROGRESS',
  }),
  'support.v1.TicketService/AnswerTicket': async (world) => ({
    ticketId: await world.ticket(),
    body: `Dear ${PLANTED}`,
    ...op(),
  }),
  'support.v1.TicketService/SetTicketPriority': async (world) => ({
    ticketId: await world.ticket(),
    priority: 'TICKET_PRIORITY_HIGH',
  }),
  'support.v1.TicketService/DeleteTicket': async (world) => ({ ticketId: await world.ticket() }),
  'support.v1.RefundService/ApproveRefund': async (world) => ({ refundId: await world.refund() }),
  'support.v1.RefundService/RejectRefund': async (world) => ({
    refundId: await world.refund(),
    reason: PLANTED,
  }),
  'support.v1.RefundService/CancelRefund': async (world) => ({
    refundId: await world.refund(),
    reason: PLANTED,
  }),
  'support.v1.RefundService/AnswerRefund': async (world) => ({
    refundId: await world.refund(),
    body: PLANTED,
    ...op(),
  }),
  'support.v1.ChargebackService/OpenChargeback': async (world) => ({
    paymentId: (await world.payment()).payment_id,
    amount: inr,
    reasonCode: '10.4',
    ...op(),
  }),
  'support.v1.ChargebackService/MoveChargeback': async (world) => ({
    chargebackId: await world.chargeback(),
    status: 'CHARGEBACK_STATUS_UNDER_REVIEW',
    note: PLANTED,
  }),
  'support.v1.ChargebackService/AddEvidence': async (world) => ({
    chargebackId: await world.chargeback(),
    attachmentId: await world.readyFile(),
  }),
  'support.v1.EffectService/RetryEffect': async (world) => ({
    documents: 'tickets',
    documentId: await world.stuckTicket(),
    effectId: STUCK,
  }),
  'attachments.v1.AttachmentService/PrepareEvidence': ({ scope }) => ({
    ...scope,
    file: { name: `${PLANTED}.txt`, mimeType: 'text/plain', sizeBytes: '3', sha256: 'ab'.repeat(32) },
    ...op(),
  }),
  'attachments.v1.AttachmentService/FinalizeEvidence': async (world) => ({
    ...world.scope,
    attachmentId: await world.uploadedFile(),
    ...op(),
  }),
  'notifier.v1.DeliveryService/ReplayDelivery': async (world) => ({
    deliveryId: await world.deadDelivery(),
    queueAnyway: true,
    ...op(),
  }),
  'notifier.v1.DeliveryService/ReplayDeliveries': ({ merchant_id }) => ({
    filter: { merchantId: merchant_id },
    queueAnyway: true,
    ...op(),
  }),
  'notifier.v1.DeliveryService/ProbeDestination': async (world) => ({
    destinationKey: await world.openDestination(),
  }),
  'notifier.v1.DeliveryService/SendTestEvent': async (world) => ({ endpointId: await world.endpoint() }),
  'backoffice.v1.PrincipalService/CreatePrincipal': () => ({
    name: 'reader',
    kind: 'PRINCIPAL_KIND_PROGRAM',
    rights: ['read'],
    ...op(),
  }),
  'backoffice.v1.PrincipalService/UpdatePrincipal': async (world) => ({
    principalId: (await world.newPrincipal(['read'])).id,
    rights: ['support'],
  }),
  'backoffice.v1.PrincipalService/RotateToken': async (world) => ({
    principalId: (await world.newPrincipal(['read'])).id,
    ...op(),
  }),
  'backoffice.v1.PrincipalService/RevokePrincipal': async (world) => ({
    principalId: (await world.newPrincipal(['read'])).id,
    reason: PLANTED,
  }),
  'backoffice.v1.ApprovalService/SetApprovalPolicy': () => ({
    rpc: SETTLE,
    currency: 'INR',
    aboveMinor: '0',
  }),
  'backoffice.v1.ApprovalService/Approve': async (world) => ({
    approvalId: await proposal(world),
    reason: PLANTED,
  }),
  'backoffice.v1.ApprovalService/Reject': async (world) => ({
    approvalId: await proposal(world),
    reason: PLANTED,
  }),
  'payments.v1.ProviderAccountService/SetAccountState': () => ({
    accountId: 'sandbox',
    state: 'ACCOUNT_STATE_DRAINING',
    reason: PLANTED,
  }),
}

/** Answers a link for bytes and changes no document. */
const ONLY_LINKS = ['multihub.attachments.v1.AttachmentService/OpenEvidenceUpload']

let world: ActsWorld
let operator: { readonly id: string; readonly token: string }
let proposer: { readonly id: string; readonly token: string }
beforeAll(async () => {
  world = await startActsWorld()
  operator = await world.newPrincipal(RIGHTS)
  proposer = await world.newPrincipal(['money'])
})
afterAll(async () => world[Symbol.asyncDispose]())

async function call(token: string, rpc: string, request: object) {
  const response = await fetch(`${world.system.roles.urls['backoffice_url']}/${rpc}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(request),
  })
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any part of an answer
  const body: any = await response.json()
  return { status: response.status, body }
}

/** A settlement that waits for the second person. */
async function proposal({ scope }: ActsWorld): Promise<string> {
  const { body } = await call(proposer.token, SETTLE, { ...scope, currency: 'INR', ...op() })
  return JSON.parse(body.details[0].debug.detailsJson).approval_id
}

async function newestEntry(rpc: string) {
  const list = 'multihub.backoffice.v1.AuditService/ListAuditEntries'
  const { body } = await call(operator.token, list, { rpc, principalId: operator.id, pageSize: 1 })
  return body.entries[0]
}

// O4
test('each RPC that changes something has a row here', () => {
  const changing = OPERATOR_RPCS.filter(({ changes }) => changes)
    .map(({ method }) => nameOfRpc(method))
    .filter((rpc) => !ONLY_LINKS.includes(rpc))
  expect(
    Object.keys(ACTS)
      .map((rpc) => `multihub.${rpc}`)
      .sort(),
  ).toEqual(changing.sort())
})

// O4
test.each(Object.keys(ACTS))('the owner keeps the act of %s', async (name) => {
  const make = ACTS[name]
  if (make === undefined) throw new Error(name)
  await expectKept(`multihub.${name}`, await make(world))
})

// O11
test('the erasure of a ticket is kept by support, and an erasure of nothing is refused', async () => {
  const rpc = 'multihub.backoffice.v1.PersonalDataService/ErasePerson'
  const merchantId = world.merchant_id
  const ticketId = await world.closedTicket()
  await expectKept(rpc, { merchantId, ticketId })
  const outcomes = []
  for (const request of [{ merchantId }, { merchantId, ticketId: 'none' }, { merchantId: '1', ticketId }]) {
    const { status, body } = await call(operator.token, rpc, request)
    const { outcome } = await newestEntry(rpc)
    outcomes.push([status, body.code, outcome])
  }
  expect(outcomes).toEqual([
    [400, 'invalid_argument', 'AUDIT_OUTCOME_REFUSED'],
    [404, 'not_found', 'AUDIT_OUTCOME_REFUSED'],
    [404, 'not_found', 'AUDIT_OUTCOME_REFUSED'],
  ])
})

async function expectKept(rpc: string, request: object): Promise<void> {
  const answer = await call(operator.token, rpc, request)
  expect(answer.status === 200 ? undefined : answer.body).toBeUndefined()
  const entry = await newestEntry(rpc)
  const kept = await findKept(rpc, entry)
  expect(kept).not.toEqual([])
  if (kept.every(({ after }) => after !== '{}')) expect(kept.map(({ after }) => after)).toContain(entry.after)
  expect(`${entry.before}${entry.after}`).not.toContain(PLANTED)
  await expectFoundByAnswer(rpc, answer.body, entry.auditId)
  if ('operationId' in request) await expectDoneOnce(rpc, request)
}

/** What the owner of an RPC, or a role that it calls for the change, keeps of an act. */
async function findKept(rpc: string, entry: { outcome: string; auditId: string; request: string }) {
  expect(entry).toMatchObject({ outcome: 'AUDIT_OUTCOME_DONE' })
  const fields = { auditId: entry.auditId, rpc, request: entry.request }
  const found = await Promise.all(
    ACT_SERVICES.map((service) => world.system.operator(service).findAct(fields)),
  )
  return found.filter(({ isDone }) => isDone)
}

/** O12: an act that is repeated under its id, because its answer was lost, is answered and changes no document. */
async function expectDoneOnce(rpc: string, request: object): Promise<void> {
  const again = await call(operator.token, rpc, request)
  expect(again.status === 200 ? undefined : again.body).toBeUndefined()
  const kept = await findKept(rpc, await newestEntry(rpc))
  expect(kept.flatMap(({ after }) => Object.keys(JSON.parse(after)))).toEqual([])
}

/** An act is among the entries of each resource that its answer shows, such as what it has created. */
async function expectFoundByAnswer(rpc: string, body: object, audit_id: string): Promise<void> {
  const list = 'multihub.backoffice.v1.AuditService/ListAuditEntries'
  for (const resource of Object.values(body)) {
    const [name = '', id = ''] = Object.entries(resource ?? {})[0] ?? []
    const [, kind] = /^([a-z]+)Id$/.exec(name) ?? []
    if (kind === undefined) continue
    const filter = { rpc, targetKind: kind, targetId: id, pageSize: 1 }
    const { body: found } = await call(operator.token, list, filter)
    expect([kind, found.entries[0]?.auditId]).toEqual([kind, audit_id])
  }
}
