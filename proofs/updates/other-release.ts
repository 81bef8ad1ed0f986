import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import type { Skip } from '../../test/support/skip.ts'

/** The code of another release, in a folder of its own. */
export interface OtherRelease {
  readonly commit: string
  readonly root: string
  remove(): Promise<void>
}

const ROOT = resolve(import.meta.dirname, '../..')
/** While no release has a tag, the other release is the commit that made this image of the released protos. */
const RELEASED_PROTOS = 'proto/released.binpb'
const run = promisify(execFile)

/**
 * Writes the files of the last release into a folder: of the commit MULTIHUB_SKEW_COMMIT, otherwise of the newest tag or of
 * the commit that renewed the released protos. It uses the installed packages if it needs the same ones, and installs its
 * own otherwise. Without git there is none.
 */
export async function checkOutOtherRelease(): Promise<OtherRelease | Skip> {
  const commit = await findCommit()
  if (commit === undefined) return { skip: 'git or the history of this project is not available' }
  const root = await mkdtemp(join(tmpdir(), 'multihub-release-'))
  const remove = (): Promise<void> => rm(root, { recursive: true, force: true })
  try {
    const archive = join(root, 'release.tar')
    await git('archive', '--output', archive, commit)
    await run('tar', ['-xf', archive, '-C', root])
    await providePackages(root)
    return { commit, root, remove }
  } catch (error) {
    await remove()
    throw error
  }
}

async function findCommit(): Promise<string | undefined> {
  const asked = process.env['MULTIHUB_SKEW_COMMIT']
  if (asked) return git('rev-parse', '--verify', `${asked}^{commit}`)
  const missing = (): undefined => undefined
  const tag = await git('describe', '--tags', '--abbrev=0').catch(missing)
  if (tag !== undefined) return git('rev-parse', '--verify', `${tag}^{commit}`)
  const commit = await git('log', '-1', '--format=%H', '--', RELEASED_PROTOS).catch(missing)
  return commit === '' ? undefined : commit
}

async function git(...parameters: readonly string[]): Promise<string> {
  const { stdout } = await run('git', parameters, { cwd: ROOT })
  return stdout.trim()
}

async function providePackages(root: string): Promise<void> {
  const [theirs, ours] = await Promise.all(
    [root, ROOT].map((folder) => readFile(join(folder, 'package-lock.json'), 'utf8')),
  )
  if (theirs === ours) await symlink(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  else await run('npm', ['ci', '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund'], { cwd: root })
}
