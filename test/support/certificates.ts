import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** What a certificate says. */
export interface IssueOptions {
  readonly days?: number
  readonly only_name?: boolean
}

/** The files of a certificate authority for one test. */
export interface Certificates {
  /** The certificate of the authority. */
  readonly ca: string
  /**
   * A key and a certificate for the DNS name `name`, and for 127.0.0.1 unless `only_name` is set. It is valid for `days`
   * from now on, by default 2; with a negative number it has expired.
   */
  issue(name: string, options?: IssueOptions): Promise<{ readonly key: string; readonly certificate: string }>
  remove(): Promise<void>
}

/** Makes a certificate authority with the program `openssl`, valid for `days` from now on. */
export async function makeAuthority(days = 400): Promise<Certificates> {
  const directory = await mkdtemp(join(tmpdir(), 'multihub-certificates-'))
  const path = (name: string): string => join(directory, name)
  const new_key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-batch']
  const authority = [
    '-keyout',
    path('ca.key'),
    '-out',
    path('ca.crt'),
    '-days',
    String(days),
    '-subj',
    '/CN=test authority',
  ]
  await run('openssl', ['req', '-x509', ...new_key, ...authority])
  return {
    ca: path('ca.crt'),
    async issue(name, { days = 2, only_name = false } = {}) {
      const [key, certificate, signing_request, extensions] = ['key', 'crt', 'csr', 'ext'].map((end) =>
        path(`${name}.${end}`),
      )
      if (!key || !certificate || !signing_request || !extensions)
        throw new TypeError('four files are needed')
      await writeFile(extensions, `subjectAltName=${only_name ? '' : 'IP:127.0.0.1,'}DNS:${name}`)
      await run('openssl', ['req', ...new_key, '-keyout', key, '-out', signing_request, '-subj', '/CN=x'])
      const signing = [
        '-CA',
        path('ca.crt'),
        '-CAkey',
        path('ca.key'),
        '-CAcreateserial',
        '-days',
        String(days),
      ]
      await run('openssl', [
        'x509',
        '-req',
        '-in',
        signing_request,
        '-out',
        certificate,
        ...signing,
        '-extfile',
        extensions,
      ])
      return { key, certificate }
    },
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}
