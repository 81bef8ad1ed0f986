import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createNetServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { sha256Hex } from '#lib/base/crypto/hash.ts'
import { randomHex } from '#lib/base/crypto/random.ts'
import { listen } from '#lib/http/network.ts'
import { diagnose } from '../../operations/doctor/doctor.ts'
import { type Certificates, makeAuthority } from '../support/certificates.ts'
import { runUntilEnd } from '../support/child.ts'
import { runHere } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { startOtlpReceiver } from '../support/otlp-receiver.ts'
import { merchantService, rpcConfig, serveProcess, tokenOf } from '../support/rpc.ts'
import { startScriptedClamd } from '../support/scripted-clamd.ts'
import { startPrivateClamd, startPrivateNats } from '../support/servers.ts'

const LONG_DAYS = 365
let home: string
let trusted: Certificates
let foreign: Certificates
const open: (() => Promise<void>)[] = []

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'multihub-doctor-'))
  trusted = await makeAuthority(2)
  foreign = await makeAuthority()
})
afterAll(async () => {
  for (const close of open) await close()
  await Promise.all([trusted.remove(), foreign.remove(), rm(home, { recursive: true, force: true })])
})

/** Serves the merchant service, ready unless `is_ready` is false, and returns its address. */
async function startPeer(variables: Readonly<Record<string, string>> = {}, is_ready = true): Promise<string> {
  const { serving, close } = await serveProcess([merchantService()], { config: rpcConfig(variables) })
  serving.setServing(is_ready)
  open.push(() => close(0))
  return `127.0.0.1:${serving.grpc_port}`
}

type Files = Awaited<ReturnType<Certificates['issue']>>

const tlsVariables = ({ key, certificate }: Files, ca: string) => ({
  MULTIHUB_TLS_KEY: key,
  MULTIHUB_TLS_CERTIFICATE: certificate,
  MULTIHUB_TLS_CA: ca,
})

/** Runs the command for all roles, which need no NATS, and returns the lines that are not about databases. */
async function runDoctor(variables: Readonly<Record<string, string>>, is_process = false) {
  const settings = {
    MULTIHUB_HOME: home,
    MULTIHUB_MASTER_KEYS: `test:${randomHex(32)}`,
    MULTIHUB_SANDBOX_KEY: randomHex(32),
    MULTIHUB_RPC_TOKEN: tokenOf('gateway'),
    ...variables,
  }
  const { code, output, log } = await (is_process
    ? runUntilEnd('main.ts', ['doctor'], settings)
    : runHere(diagnose, [], settings))
  const lines = output.trimEnd().split('\n')
  expect(output + log).not.toContain(tokenOf('gateway'))
  return { code, lineOf: (subject: string) => lines.find((line) => line.slice(9).startsWith(subject)) }
}

// R3
test('tells why a process over TLS cannot be called', async () => {
  const own = await trusted.issue('caller', { days: LONG_DAYS })
  const peer = async (authority: Certificates, name: string, options: object, ca = trusted.ca) =>
    startPeer(tlsVariables(await authority.issue(name, options), ca))
  const plain = await startPeer()
  const { code, lineOf } = await runDoctor({
    ...tlsVariables(own, trusted.ca),
    MULTIHUB_MERCHANTS_ADDRESS: await peer(trusted, 'soon', { days: 10 }),
    MULTIHUB_BALANCES_ADDRESS: await peer(trusted, 'expired', { days: -1 }),
    MULTIHUB_PAYMENTS_ADDRESS: await peer(trusted, 'other.internal', { only_name: true }),
    MULTIHUB_SUPPORT_ADDRESS: await peer(foreign, 'foreign', {}),
    MULTIHUB_NOTIFIER_ADDRESS: await peer(trusted, 'strict', {}, foreign.ca),
    MULTIHUB_ATTACHMENTS_ADDRESS: plain,
  })
  expect(code).toBe(1)
  expect(lineOf('MULTIHUB_TLS_CERTIFICATE')).toMatch(/^ok .+ valid until \d{4}-\d\d-\d\d$/)
  expect(lineOf('MULTIHUB_TLS_CA')).toMatch(/^WARNING .+ ends on \d{4}-\d\d-\d\d: renew it$/)
  expect(lineOf('merchants at')).toMatch(/^WARNING .+: ready, .+, but its certificate ends on .+: renew it$/)
  expect(lineOf('balances at')).toMatch(/^PROBLEM .+: its certificate expired on .+: renew it$/)
  expect(lineOf('payments at')).toMatch(/^PROBLEM .+ is not for 127\.0\.0\.1 but for DNS:other\.internal: /)
  expect(lineOf('support at')).toMatch(/^PROBLEM .+ is not trusted .+ must be in MULTIHUB_TLS_CA$/)
  expect(lineOf('notifier at')).toMatch(/^PROBLEM .+ gives no gRPC response .+ use one authority for both$/)
  expect(lineOf('attachments at')).toMatch(/^PROBLEM .+ does not speak TLS .+MULTIHUB_ATTACHMENTS_ADDRESS$/)
})

// R3
test('tells why a process without TLS cannot be called', async () => {
  const tls = tlsVariables(await trusted.issue('server'), trusted.ca)
  const other_token = { MULTIHUB_RPC_CALLERS: `gateway:${sha256Hex('another token')}` }
  const { code, lineOf } = await runDoctor({
    MULTIHUB_MERCHANTS_ADDRESS: await startPeer({}, false),
    MULTIHUB_BALANCES_ADDRESS: await startPeer(other_token),
    MULTIHUB_PAYMENTS_ADDRESS: await startPeer(),
    MULTIHUB_SUPPORT_ADDRESS: 'no-such-host.invalid:9090',
    MULTIHUB_NOTIFIER_ADDRESS: await startPeer(tls),
    MULTIHUB_ATTACHMENTS_ADDRESS: `127.0.0.1:${await freePort()}`,
  })
  expect(code).toBe(1)
  expect(lineOf('merchants at')).toMatch(/^PROBLEM .+ not ready: its \/readyz says why$/)
  expect(lineOf('balances at')).toMatch(/^PROBLEM .+ does not know the token .+ its MULTIHUB_RPC_CALLERS$/)
  expect(lineOf('payments at')).toMatch(
    /^PROBLEM .+ does not run payments: correct MULTIHUB_PAYMENTS_ADDRESS$/,
  )
  expect(lineOf('support at')).toMatch(/^PROBLEM .+ the name no-such-host\.invalid has no address /)
  expect(lineOf('notifier at')).toMatch(/^PROBLEM .+ if it has MULTIHUB_TLS_KEY, this process needs it too$/)
  expect(lineOf('attachments at')).toMatch(/^PROBLEM .+ECONNREFUSED.+: start that role/)
})

test('says what to do about servers that take connections and never answer', async () => {
  const sockets = new Set<Socket>()
  const silent = createNetServer((socket) => void sockets.add(socket.on('error', () => {}).resume()))
  const { host_and_port, close } = await listen(silent, { host: '127.0.0.1', port: 0, variable: 'test' })
  open.push(async () => {
    for (const socket of sockets) socket.destroy()
    await close()
  })
  const { code, lineOf } = await runDoctor({
    MONGODB_URI: `mongodb://${host_and_port}/`,
    NATS_URL: `nats://${host_and_port}`,
    MULTIHUB_MERCHANTS_ADDRESS: host_and_port,
    MULTIHUB_SCANNER: `clamd://${host_and_port}`,
    MULTIHUB_ATTACHMENTS_URL: `http://${host_and_port}`,
    MULTIHUB_PUBLIC_URL: `http://${host_and_port}`,
    OTEL_EXPORTER_OTLP_ENDPOINT: `http://${host_and_port}`,
  })
  expect(code).toBe(1)
  const nothing = 'something listens there, but gives no HTTP response \\(timeout\\): .+'
  for (const [subject, pattern] of [
    ['database multihub_payments', 'MongoDB does not answer .+: start it, or correct MONGODB_URI'],
    ['NATS', 'NATS does not answer .+: start it, or correct NATS_URL'],
    ['merchants at', 'something listens, but gives no gRPC response .+: if it has MULTIHUB_TLS_KEY, .+'],
    ['virus scanner', '.+ does not answer PING .+: start clamd, or correct MULTIHUB_SCANNER'],
    ['files at', `${nothing} or correct MULTIHUB_ATTACHMENTS_URL`],
    ['public URL', `${nothing}MULTIHUB_PUBLIC_URL, or check it from where merchants are`],
    ['collector', `${nothing} or correct OTEL_EXPORTER_OTLP_ENDPOINT`],
  ] as const)
    expect(lineOf(subject)).toMatch(new RegExp(`^PROBLEM .+${pattern}$`))
})

test('tells what is wrong with the scanner, the URLs, the providers and the collector', async () => {
  const answer = createServer((_request, response) => response.writeHead(404).end('not here'))
  const web = await listen(answer, { host: '127.0.0.1', port: 0, variable: 'test' })
  const files = await foreign.issue('provider')
  const [key, cert] = await Promise.all([readFile(files.key), readFile(files.certificate)])
  let requests = 0
  const provider_server = createTlsServer({ key, cert }, (_request, response) => {
    requests += 1
    response.end()
  })
  const provider = await listen(provider_server, { host: '127.0.0.1', port: 0, variable: 'test' })
  const [clamd, collector] = await Promise.all([startScriptedClamd(), startOtlpReceiver()])
  open.push(
    () => web.close(),
    () => provider.close(),
    clamd.close,
    collector.stop,
  )
  clamd.setVersion('ClamAV 1.4.3/27000/Mon Jan  5 09:24:31 2026')
  collector.respondWith(401)
  const providers_file = join(home, 'providers.json')
  const account = { connector: 'http', account_id: 'live', environment: 'production' }
  const live = { ...account, base_url: `https://${provider.host_and_port}/live`, key: randomHex(32) }
  const tried = { ...live, account_id: 'tried', environment: 'test', key: randomHex(32) }
  const accounts = [live, { ...tried, base_url: `https://${provider.host_and_port}/test` }]
  await writeFile(providers_file, JSON.stringify({ accounts }))
  const variables = {
    MULTIHUB_SCANNER: clamd.address,
    MULTIHUB_ATTACHMENTS_URL: `http://${web.host_and_port}`,
    MULTIHUB_PUBLIC_URL: `http://${web.host_and_port}`,
    MULTIHUB_PROVIDERS_FILE: providers_file,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'authorization=otlp-key',
  }
  const trusting = await runDoctor({ ...variables, NODE_EXTRA_CA_CERTS: foreign.ca }, true)
  expect(trusting.code).toBe(1)
  expect(trusting.lineOf('virus scanner')).toMatch(/^WARNING .+ they are \d+ days old: check freshclam/)
  expect(trusting.lineOf('files at')).toMatch(/^PROBLEM .+ something else answers \(HTTP 404\)/)
  expect(trusting.lineOf('public URL')).toMatch(/^PROBLEM .+ something else answers \(HTTP 404\)/)
  expect(trusting.lineOf('provider https')).toMatch(/^WARNING .+ share this host \(live, tried\)/)
  expect(trusting.lineOf('collector')).toMatch(/^PROBLEM .+ refuses the headers \(HTTP 401\)/)

  clamd.setVersion('ClamAV 1.4.3')
  await writeFile(providers_file, JSON.stringify({ accounts: [live, { ...tried, key: live.key }] }))
  const strict = await runDoctor({
    ...variables,
    MULTIHUB_PUBLIC_URL: `http://127.0.0.1:${await freePort()}`,
    MULTIHUB_ATTACHMENTS_URL: `http://127.0.0.1:${await freePort()}`,
  })
  expect(strict.lineOf('virus scanner')).toMatch(/^PROBLEM .+ has no signatures: run freshclam$/)
  expect(strict.lineOf('files at')).toMatch(/^PROBLEM .+ECONNREFUSED.+MULTIHUB_ATTACHMENTS_URL$/)
  expect(strict.lineOf('public URL')).toMatch(/^WARNING .+ cannot be reached from here .+ECONNREFUSED/)
  expect(strict.lineOf('provider accounts')).toMatch(
    /^PROBLEM .+\.key: is that of an account of the other env/,
  )

  clamd.setVersion('ClamAV 1.4.3/27000/Mon Jan  5 09:24:31 2026')
  clamd.behave((socket) => socket.end('INSTREAM size limit exceeded. ERROR\0'))
  await writeFile(providers_file, JSON.stringify({ accounts: [live] }))
  const limited = await runDoctor(variables)
  expect(limited.lineOf('virus scanner')).toMatch(
    /^PROBLEM .+ does not scan .+ size limit exceeded.+StreamMax/,
  )
  expect(limited.lineOf('provider https')).toMatch(/^PROBLEM .+ is not trusted .+ NODE_EXTRA_CA_CERTS$/)
  expect(requests).toBe(0)
})

const nats = await startPrivateNats(
  `authorization { users = [
    { user: free, password: right },
    { user: own, password: right, permissions: {
      publish: ["multihub.events.payment.>", "multihub.events.ticket.>", "multihub.events.refund.>",
        "multihub.events.chargeback.>", "multihub.receipts.*", "multihub.notifier.wake.*",
        "multihub.merchants.changed", "multihub.doctor.>", "$SYS.REQ.USER.INFO"],
      subscribe: ["multihub.events.>", "multihub.receipts.*", "multihub.notifier.wake.*",
        "multihub.merchants.changed", "multihub.doctor.>"] } },
    { user: silent, password: right, permissions: { publish: "multihub.doctor.>", subscribe: "multihub.doctor.>" } },
    { user: bound, password: right, permissions: { publish: "multihub.other", subscribe: ">" } }
  ] }`,
)

if ('skip' in nats) test.skip(`doctor and NATS: ${nats.skip}`, () => {})
else
  test('tells whether NATS accepts the credentials and carries messages', async () => {
    open.push(nats.stop)
    const lineFor = async (user: string) => {
      const natsUrl = nats.url.replace('://', `://${user}@`)
      return (await runDoctor({ NATS_URL: natsUrl })).lineOf('NATS')
    }
    expect(await lineFor('own:right')).toBe('ok       NATS: carries messages')
    expect(await lineFor('silent:right')).toMatch(
      /^WARNING .+ is unknown: permit it to publish to \$SYS\.REQ\.USER\.INFO/,
    )
    expect(await lineFor('free:right')).toMatch(
      /^WARNING .+ may publish to every subject; may subscribe to every subject: give each role a user/,
    )
    expect(await lineFor('free:wrong')).toMatch(/^PROBLEM .+ refuses the credentials: correct NATS_URL/)
    expect(await lineFor('bound:right')).toMatch(
      /^WARNING .+ permit this user .+ subscribe to multihub\.doctor\.>$/,
    )
  })

const tls_authority = await makeAuthority()
const soon = await tls_authority.issue('localhost', { days: 10 })
const tls_nats = await startPrivateNats(
  `tls { cert_file: "${soon.certificate}", key_file: "${soon.key}", timeout: 5 }`,
)
afterAll(() => tls_authority.remove())

if ('skip' in tls_nats) test.skip(`doctor and the certificates of servers: ${tls_nats.skip}`, () => {})
else
  test('says when the certificates of NATS and MongoDB end', async () => {
    open.push(tls_nats.stop)
    const startTls = async (days: number): Promise<string> => {
      const files = await tls_authority.issue(`days${days}`, { days })
      const [key, cert] = await Promise.all([readFile(files.key), readFile(files.certificate)])
      const server = createTlsServer({ key, cert })
      const { host_and_port, close } = await listen(server, { host: '127.0.0.1', port: 0, variable: 'test' })
      open.push(() => close())
      return host_and_port
    }
    const [long, ended] = [await startTls(LONG_DAYS), await startTls(-1)]
    const natsUrl = tls_nats.url.replace('nats://127.0.0.1', 'tls://localhost')
    const { lineOf } = await runDoctor({
      NATS_URL: natsUrl,
      NATS_TLS_CA: tls_authority.ca,
      MONGODB_URI: `mongodb://user:secret@${long},${ended}/?tls=true&tlsCAFile=${encodeURIComponent(tls_authority.ca)}`,
    })
    expect(lineOf('NATS:')).toMatch(/^WARNING {2}NATS: carries messages, but/)
    expect(lineOf('certificate of NATS')).toMatch(
      /^WARNING .+: trusted, but its certificate ends on .+: renew it$/,
    )
    expect(lineOf(`certificate of MongoDB at ${long}`)).toMatch(
      /^ok .+: trusted, its certificate is valid until .+$/,
    )
    expect(lineOf(`certificate of MongoDB at ${ended}`)).toMatch(
      /^PROBLEM .+: its certificate expired on .+: renew it$/,
    )
  })

const private_clamd = await startPrivateClamd()

if ('skip' in private_clamd) test.skip(`doctor and clamd: ${private_clamd.skip}`, () => {})
else
  test('speaks with a real clamd, and tells that it lacks the signatures of ClamAV', async () => {
    open.push(private_clamd.stop)
    const { lineOf } = await runDoctor({ MULTIHUB_SCANNER: private_clamd.address })
    expect(lineOf('virus scanner')).toMatch(/^PROBLEM .+: ClamAV [\d.]+ has no signatures: run freshclam$/)
  })
