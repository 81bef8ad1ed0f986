import { readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import { afterAll, expect, test } from '@jest/globals'
import { Secret } from '#lib/base/crypto/secret.ts'
import { listen } from '#lib/http/network.ts'
import type { ResolveSrv } from '../../app/connection-certificates.ts'
import { makeAuthority } from '../../test/support/certificates.ts'
import { databaseCertificateChecks } from './store-checks.ts'

const authority = await makeAuthority()
const close: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const end of close) await end()
  await authority.remove()
})

/** Serves TLS with a certificate that is valid for this number of days, and returns its SRV record. */
async function startServer(days: number): Promise<{ readonly name: string; readonly port: number }> {
  const files = await authority.issue(`days${days}`, { days })
  const [key, cert] = await Promise.all([readFile(files.key), readFile(files.certificate)])
  const server = createServer({ key, cert })
  const listening = await listen(server, { host: '127.0.0.1', port: 0, variable: 'test' })
  close.push(() => listening.close())
  return { name: '127.0.0.1', port: Number(listening.host_and_port.split(':').at(-1)) }
}

/** What the check of a cluster says whose name has these SRV records. */
async function checkCluster(resolveSrv: ResolveSrv, options = ''): Promise<string> {
  const uri = `mongodb+srv://user:secret@db.example.com/?tlsCAFile=${encodeURIComponent(authority.ca)}${options}`
  const [check, ...others] = await databaseCertificateChecks(new Secret(uri), resolveSrv)
  expect(others).toEqual([])
  expect(check?.subject).toBe('certificates of MongoDB by _mongodb._tcp.db.example.com')
  const finding = await check?.run().catch((error: Error) => ({ status: 'problem', text: error.message }))
  return `${finding?.status}: ${finding?.text}`
}

test('the certificates of all servers that the name of a cluster has are looked at', async () => {
  const [long, soon, ended] = [await startServer(365), await startServer(10), await startServer(-1)]
  const names: string[] = []
  const resolve =
    (...records: (typeof long)[]): ResolveSrv =>
    async (name) => {
      names.push(name)
      return records
    }
  expect(await checkCluster(resolve(long))).toMatch(
    /^ok: all 1 trusted, the first certificate is valid until /,
  )
  expect(await checkCluster(resolve(long, soon))).toMatch(
    /^warning: all 2 trusted, but the first certificate ends on .+: renew it$/,
  )
  expect(await checkCluster(resolve(long, ended))).toMatch(
    new RegExp(`^problem: 127.0.0.1:${ended.port}: its certificate expired on .+: renew it$`),
  )
  expect(new Set(names)).toEqual(new Set(['_mongodb._tcp.db.example.com']))
})

test('a name without servers is a problem that says what to correct', async () => {
  const resolve: ResolveSrv = () =>
    Promise.reject(Object.assign(new Error('querySrv ENOTFOUND'), { code: 'ENOTFOUND' }))
  expect(await checkCluster(resolve)).toBe(
    'problem: the name _mongodb._tcp.db.example.com has no address (ENOTFOUND): correct MONGODB_URI',
  )
})

test('without TLS no certificate is looked at', async () => {
  expect(await databaseCertificateChecks(new Secret('mongodb+srv://db.example.com/?tls=false'))).toEqual([])
})
