import { StartError } from '#lib/base/start-error.ts'
import { clock } from '#lib/base/time.ts'
import { ATTACHMENT_MAX_BYTES } from '#lib/contract/attachments.ts'
import { Unavailable } from '#lib/contract/errors/unavailable.ts'
import { type Finding, ok, warning } from '#lib/role/environment-check.ts'
import { askClamd, type ClamdAddress, NO_SCANNER, type Scanner, scanStream, toScanVerdict } from './clamd.ts'

const COMMAND_TIMEOUT_MS = 5_000
/** A scan may take as long as in operation (F5). */
const SCAN_TIMEOUT_MS = 20_000
/** ClamAV publishes signatures every day. */
const SIGNATURES_AGE_MAX_DAYS = 3
const DAY_MS = 24 * 60 * 60 * 1_000
/** Such as `ClamAV 1.4.3/27700/Sun Nov 22 09:24:31 2026`, without the second and third part when there are no signatures. */
const VERSION = /^(ClamAV [^/]{1,40})(?:\/(\d{1,9})\/(.{1,40}))?$/

/**
 * Looks at the virus scanner: whether it answers, has signatures of the last days, and scans a file of the largest size that
 * merchants may upload (F5). The limits of clamd cannot be read over its socket, so such a file of zeros is sent.
 */
export async function checkScanner(scanner: Scanner | undefined): Promise<Finding> {
  if (scanner === undefined) return warning('none: uploaded files wait until MULTIHUB_SCANNER is set')
  if (scanner === NO_SCANNER) return warning('none: uploaded files are accepted without a scan')
  const version = await readVersion(scanner)
  const [, program = '', signatures, published] = VERSION.exec(version) ?? []
  if (program === '') throw new StartError('what answers is not clamd: correct MULTIHUB_SCANNER')
  if (signatures === undefined || published === undefined)
    throw new StartError(`${program} has no signatures: run freshclam`)
  await scanLargestFile(scanner)
  const text = `${program} with the signatures ${signatures} of ${published}, and it scans files of 10 MiB`
  const age_days = (clock.now_ms() - Date.parse(`${published} UTC`)) / DAY_MS
  if (age_days <= SIGNATURES_AGE_MAX_DAYS) return ok(text)
  return warning(
    `${text}, but they are ${Math.floor(age_days)} days old: check freshclam and its access to the mirrors`,
  )
}

async function readVersion(scanner: ClamdAddress): Promise<string> {
  try {
    const pong = await askClamd(scanner, 'PING', COMMAND_TIMEOUT_MS)
    if (pong !== 'PONG') throw new StartError('what answers is not clamd: correct MULTIHUB_SCANNER')
    return await askClamd(scanner, 'VERSION', COMMAND_TIMEOUT_MS)
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    throw new StartError(`${error.message}: start clamd, or correct MULTIHUB_SCANNER`)
  }
}

async function scanLargestFile(scanner: ClamdAddress): Promise<void> {
  try {
    const { text, is_early } = await scanStream(scanner, largestFile(), SCAN_TIMEOUT_MS)
    if (toScanVerdict(text, is_early) === 'clean') return
    throw new StartError(
      `it does not scan a file of 10 MiB (${text}): set StreamMaxLength, MaxFileSize and MaxScanSize as docs/operators/install.md says`,
    )
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    throw new StartError(
      `it gives no verdict for a file of 10 MiB within ${SCAN_TIMEOUT_MS / 1_000} s: check its log`,
    )
  }
}

async function* largestFile(): AsyncGenerator<Uint8Array> {
  const chunk = Buffer.alloc(64 * 1024)
  for (let sent = 0; sent < ATTACHMENT_MAX_BYTES; sent += chunk.length) yield chunk
}
