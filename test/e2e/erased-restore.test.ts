import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { backUp } from '../../operations/backup/backup.ts'
import { restore } from '../../operations/backup/restore.ts'
import { announcementOf, transfer } from '../integration/attachments.fixture.ts'
import { runToEnd } from '../support/child.ts'
import { runHere, runHereToEnd } from '../support/command.ts'
import { eventually } from '../support/eventually.ts'
import { type MerchantClient, merchantClient } from '../support/merchant.ts'
import { operatorOf } from '../support/operator.ts'
import { startOneProcess, type TestSystem } from '../support/system.ts'
import { keysOf } from './backup.suite.ts'

const LONG_MS = 300_000
const EMAIL = 'customer@example.com'
/** What a ticket says of the person. It is erased, and not sealed (O11). */
const IN_TICKET = ['Zeldaplanted did not get it', 'call 919812345670', 'the passport of Zeldaplanted']

let outside: string
let system: TestSystem
beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), 'multihub-erasures-'))
  system = await startOneProcess({
    MULTIHUB_ERASURES_FILE: join(outside, 'erasures.jsonl'),
    MULTIHUB_LOG_LEVEL: 'debug',
    MULTIHUB_SCANNER: 'none',
  })
}, LONG_MS)
afterAll(async () => {
  await system.end()
  await rm(outside, { recursive: true })
})

const operator = (rpc: string, request: object) => operatorOf(system.demo())(rpc, request)

/** A session that the operator's token begins. Its secret is a bearer token too. */
async function beginSession(): Promise<string> {
  const { backoffice_url, operator: principal } = system.demo()
  const response = await fetch(`${backoffice_url}/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Origin: backoffice_url },
    body: JSON.stringify({ token: principal.token }),
  })
  return /mhs_\w+/.exec(response.headers.get('set-cookie') ?? '')?.[0] ?? ''
}

/** The status with which a call of this session is answered. */
async function asks(session: string): Promise<number> {
  const path = 'multihub.backoffice.v1.PrincipalService/WhoAmI'
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${session}` }
  const { status } = await fetch(`${system.demo().backoffice_url}/${path}`, {
    method: 'POST',
    headers,
    body: '{}',
  })
  return status
}

/** Uploads a file for a ticket. Returns how the merchant reads its status, and its id. */
async function uploadFile(alpha: MerchantClient, content: Buffer) {
  const call = async (method: string, params: object, operation_id?: string) =>
    (await alpha.call({ method, operation_id, params })).body.result
  const prepared = await call('attachment.prepare', announcementOf(content), randomUUID())
  const { upload, attachment: record } = prepared
  const attachment = { h_id: record.identifiers.h_id as string }
  await transfer(upload.url, { method: 'PUT', headers: upload.headers, content })
  await call('attachment.finalize', { attachment }, randomUUID())
  const readStatus = async (): Promise<string | undefined> =>
    (await call('attachment.status', { attachment }))?.status
  await eventually(readStatus, (status) => status === 'ready')
  return { ...attachment, readStatus }
}

/** Opens a ticket about a payment through the public door. Returns how the operator reads it. */
async function openTicket(alpha: MerchantClient, c_id: string, attachment_id: string) {
  const [title, description] = IN_TICKET
  const identifiers = { c_id: randomUUID() }
  const payment = { c_id }
  const attachment_ids = [attachment_id]
  const params = { identifiers, title, description, category: 'other', payment, attachment_ids }
  const { body } = await alpha.call({ method: 'ticket.create', params })
  const ticketId: string = body.result.identifiers.h_id
  return async () => (await operator('multihub.support.v1.TicketService/GetTicket', { ticketId })).ticket
}

/** Which of these texts are in a file below a directory. */
async function textsIn(directory: string, texts: readonly string[]): Promise<readonly string[]> {
  const files = await readdir(directory, { recursive: true, withFileTypes: true })
  const contents = await Promise.all(
    files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name))),
  )
  return texts.filter((text) => contents.some((content) => content.includes(text)))
}

// O11
test(
  'a person is in no byte of an encrypted backup; who was erased after it is erased again by the restore',
  async () => {
    const alpha = merchantClient(system.demo)
    const { c_id } = await alpha.deposit(70_000)
    const { identifiers } = await alpha.finalPayment(c_id)
    const paymentId = identifiers.h_id
    const readEmail = async (): Promise<string | undefined> => {
      const request = { paymentId, reveal: true }
      const { payment } = await operator('multihub.payments.v1.PaymentService/GetPayment', request)
      return payment.details?.payer?.email
    }
    const file = await uploadFile(alpha, Buffer.from(`${IN_TICKET[2]}\n`))
    const readTicket = await openTicket(alpha, c_id, file.h_id)
    expect(await readEmail()).toBe(EMAIL)
    const session = await beginSession()
    expect(await asks(session)).toBe(200)
    const variables = { MULTIHUB_HOME: system.home, ...(await keysOf(system)) }
    const [plain, backup] = [join(outside, 'plain'), join(outside, 'backup')]
    const [identity, other] = [await generateIdentity(), await generateIdentity()]
    const recipient = await identityToRecipient(identity)
    await runHereToEnd(backUp, [plain], variables)
    await runHereToEnd(backUp, ['--recipient', recipient, backup], variables)
    // The search itself finds what is there: tickets are erased, not sealed.
    const texts = [EMAIL, ...IN_TICKET]
    expect(await textsIn(plain, texts)).toEqual(IN_TICKET)
    expect(await textsIn(backup, [...texts, paymentId, c_id])).toEqual([])

    const request = { merchantId: alpha.merchant.merchant_id, paymentId }
    // It is refused while effects of the payment are under way.
    await eventually(
      () =>
        operator('multihub.backoffice.v1.PersonalDataService/ErasePerson', request).then(
          () => true,
          () => false,
        ),
      (is_erased) => is_erased === true,
    )
    expect(await readEmail()).toBeUndefined()
    await eventually(readTicket, (ticket) => ticket?.title === '[erased]')
    await eventually(file.readStatus, (status) => status === 'expired')
    const list = join(outside, 'erasures.jsonl')
    const text = await readFile(list, 'utf8')
    for (const id of [paymentId, c_id, EMAIL]) expect(text).not.toContain(id)

    await system.kill()
    await rename(join(system.home, 'data'), join(outside, 'data.before'))
    const restoreWith = (file: string) => ['--erasures', list, '--identity', file, '--verify', backup]
    const [right, wrong] = [join(outside, 'identity.txt'), join(outside, 'other.txt')]
    await writeFile(right, `${identity}\n`)
    await writeFile(wrong, `${other}\n`)
    const refused = await runHere(restore, restoreWith(wrong), variables)
    expect({ code: refused.code, log: refused.log }).toMatchObject({
      code: 1,
      log: expect.stringContaining(`no identity in ${wrong} opens the backup`),
    })
    expect(await readdir(system.home)).not.toContain('data.restoring')
    const lines = await runToEnd('main.ts', ['restore', ...restoreWith(right)], variables)
    expect(lines).toContain('payments: 1 documents were erased again')
    expect(lines).toContain('support: 1 documents were erased again')
    await system.start()
    // O21
    expect(await asks(session)).toBe(401)
    await eventually(readEmail, (email) => email === undefined)
    await eventually(readTicket, (ticket) => ticket?.title === '[erased]')
    // The backup has its bytes, and so had the restored system.
    await eventually(file.readStatus, (status) => status === 'expired')
    await eventually(
      () => textsIn(join(system.home, 'data'), IN_TICKET.slice(2)),
      (found) => found?.length === 0,
    )
    for (const text of [EMAIL, ...IN_TICKET]) expect(system.logs()).not.toContain(text)
    expect((await alpha.status(c_id)).body.result.payment.status.status).toBe('success')
  },
  LONG_MS,
)
