import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { ROOT } from '../../scripts/sources/sources.ts'
import { skipWithout } from '../support/skip.ts'
import { PYTHON_PACKAGES } from './languages.ts'

const has_mypy = existsSync(join(PYTHON_PACKAGES, 'mypy'))
if (!has_mypy) skipWithout('mypy is not installed: run scripts/servers/install')

/** A merchant's program with one mistake, in its last line. */
const PROGRAM = `from multihub_client import Client

def show(client: Client) -> None:
    shown = client.payment_status({"params": {"payment": {"identifiers": {"c_id": "a"}}}})
    reveal_type(shown["payment"]["status"]["success"])
    client.payment_status({"params": {"payment": {"identifier": {}}}})
`

const testWithMypy = has_mypy ? test : test.skip
testWithMypy('the client in Python has types that mypy accepts, and that find a wrong field', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'multihub-mypy-'))
  try {
    const program = join(folder, 'program.py')
    await writeFile(program, PROGRAM)
    const run = (...files: readonly string[]): string =>
      spawnSync('python3', ['-m', 'mypy', '--python-version', '3.9', '--cache-dir', folder, ...files], {
        cwd: join(ROOT, 'clients', 'python'),
        env: { ...process.env, PYTHONPATH: PYTHON_PACKAGES },
        encoding: 'utf8',
      }).stdout
    expect(run('src')).toMatch(/^Success: no issues found in \d+ source files/)
    const page = await readFile(join(ROOT, 'clients', 'python', 'README.md'), 'utf8')
    const first_deposit = join(folder, 'first_deposit.py')
    await writeFile(first_deposit, /```python\n([\s\S]*?)```/.exec(page)?.[1] ?? 'missing')
    expect(run(first_deposit)).toMatch(/^Success: no issues found in 1 source file/)
    const report = run(program)
    expect(report).toContain('Revealed type is "Union[builtins.bool, None]"')
    expect(report).toContain('program.py:6: error:')
    expect(report).not.toContain('program.py:4: error:')
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
