import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'

/*
 * What an assembled image is made of, signed (SLSA provenance 1.0 in a DSSE envelope, by Ed25519):
 *
 *   node deploy/image/provenance.ts sign ROOT --key FILE [--commit HASH] [--image NAME@sha256:DIGEST] >provenance.json
 *   node deploy/image/provenance.ts verify ROOT --key FILE provenance.json
 *
 * ROOT is what assemble.ts has written, or the unpacked files of an image. The keys are files of PEM: openssl genpkey -algorithm ed25519.
 */

const PROJECT = resolve(import.meta.dirname, '../..')
/** What is assembled, without the compile cache, which differs each time. */
const COMPARED = ['app', 'nodejs']
const BILL = 'app/sbom.cdx.json'
const PAYLOAD_TYPE = 'application/vnd.in-toto+json'
const FILES = 'files'
/** What decides about the content besides the commit: which packages, which Node.js, which base images. */
const LOCKS = ['package-lock.json', 'scripts/runtime/package-lock.json', 'deploy/image/Dockerfile'] as const

/** A named thing, and its SHA-256 as hexadecimal digits. */
interface Subject {
  readonly name: string
  readonly digest: { readonly sha256: string }
}

/** A signed statement, as cosign and other programs read it (DSSE 1.0). */
export interface Envelope {
  readonly payloadType: string
  readonly payload: string
  readonly signatures: readonly { readonly keyid: string; readonly sig: string }[]
}

/** What is known about a build besides its files. */
export interface BuildFacts {
  readonly commit: string
  /** The image with its digest, such as `registry.example/multihub@sha256:…`, if one was pushed. */
  readonly image?: string | undefined
}

/**
 * Every file of an assembled image but the compile cache, as sorted lines of mode, SHA-256 and path. Owners and times are left out, because
 * unpacking changes them.
 */
export function listFiles(root: string): readonly string[] {
  const listOf = (path: string): readonly string[] => {
    const stat = lstatSync(join(root, path))
    if (stat.isDirectory()) return readdirSync(join(root, path)).flatMap((name) => listOf(`${path}/${name}`))
    const content = stat.isSymbolicLink() ? readlinkSync(join(root, path)) : readFileSync(join(root, path))
    const mode = stat.isSymbolicLink() ? 'link' : (stat.mode & 0o7777).toString(8)
    return [`${mode} ${sha256(content)} ${path}`]
  }
  return COMPARED.flatMap(listOf).sort()
}

/** Signs what is below `root`: all files as one digest, the bill of materials, and the image. */
export function signProvenance(root: string, facts: BuildFacts, key: KeyObject): Envelope {
  const [name, digest] = facts.image?.split('@sha256:') ?? []
  const image = name === undefined || digest === undefined ? [] : [{ name, digest: { sha256: digest } }]
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [...subjectsOf(root), ...image],
    predicateType: 'https://slsa.dev/provenance/v1',
    predicate: {
      buildDefinition: {
        buildType: 'https://multihub.dev/assemble/v1',
        externalParameters: { commit: facts.commit },
        resolvedDependencies: LOCKS.map((file) => ({
          name: file,
          digest: { sha256: sha256(readFileSync(join(PROJECT, file))) },
        })),
      },
      runDetails: { builder: { id: 'https://multihub.dev/deploy/image/assemble.ts' } },
    },
  }
  const payload = Buffer.from(JSON.stringify(statement))
  const sig = sign(null, preAuthentication(PAYLOAD_TYPE, payload), key).toString('base64')
  return {
    payloadType: PAYLOAD_TYPE,
    payload: payload.toString('base64'),
    signatures: [{ keyid: keyIdOf(key), sig }],
  }
}

/** What is wrong with files and their provenance; empty when a holder of the key has signed exactly these files. */
export function problemsOf(root: string, envelope: Envelope, key: KeyObject): readonly string[] {
  const payload = Buffer.from(envelope.payload, 'base64')
  const signed = preAuthentication(PAYLOAD_TYPE, payload)
  const is_signed =
    envelope.payloadType === PAYLOAD_TYPE &&
    envelope.signatures.some(({ sig }) => verify(null, signed, key, Buffer.from(sig, 'base64')))
  if (!is_signed) return ['no signature of this key: another one has signed, or the statement was changed']
  const { subject } = JSON.parse(payload.toString()) as { readonly subject: readonly Subject[] }
  return subjectsOf(root).flatMap(({ name, digest }) => {
    const named = subject.find((each) => each.name === name)
    return named?.digest.sha256 === digest.sha256 ? [] : [`${name}: the statement is about other content`]
  })
}

function subjectsOf(root: string): readonly Subject[] {
  const text = listFiles(root)
    .map((line) => `${line}\n`)
    .join('')
  const bill = readFileSync(join(root, BILL))
  return [
    { name: FILES, digest: { sha256: sha256(text) } },
    { name: BILL, digest: { sha256: sha256(bill) } },
  ]
}

/** What a signature of DSSE covers: the type and the payload, each with its length. */
function preAuthentication(type: string, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`DSSEv1 ${type.length} ${type} ${payload.length} `), payload])
}

/** The id of a key: the SHA-256 of its public part. */
function keyIdOf(key: KeyObject): string {
  return sha256(createPublicKey(key).export({ type: 'spki', format: 'der' }))
}

function sha256(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex')
}

function main(): void {
  const options = { key: { type: 'string' }, commit: { type: 'string' }, image: { type: 'string' } } as const
  const { positionals, values } = parseArgs({ allowPositionals: true, options })
  const [act, root, file] = positionals
  if (root === undefined || values.key === undefined || (act !== 'sign' && file === undefined))
    throw new Error(
      'usage: provenance.ts sign ROOT --key FILE [--commit HASH] [--image NAME@sha256:DIGEST] | verify ROOT --key FILE PROVENANCE',
    )
  const pem = readFileSync(values.key)
  if (act === 'sign') {
    const envelope = signProvenance(
      root,
      { commit: values.commit ?? '', image: values.image },
      createPrivateKey(pem),
    )
    process.stdout.write(`${JSON.stringify(envelope)}\n`)
    return
  }
  const problems = problemsOf(root, JSON.parse(readFileSync(file ?? '', 'utf8')), createPublicKey(pem))
  end(
    problems.length === 0 ? 0 : 1,
    problems.length === 0 ? 'these files are what was signed' : problems.join('\n'),
  )
}

function end(code: number, sentence: string): void {
  process.stderr.write(`${sentence}\n`)
  process.exitCode = code
}

if (import.meta.main) {
  try {
    main()
  } catch (error) {
    end(2, error instanceof Error ? error.message : String(error))
  }
}
