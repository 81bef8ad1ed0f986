import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { sleep } from '#lib/base/time.ts'
import { findProgram } from '../../test/support/programs.ts'
import type { TransferRate } from './transfers.ts'

/** A PostgreSQL server of the benchmark's own, on the same disk as the ledger, with the settings of `initdb`. */
export interface PostgresTransfers {
  /** Runs `clients` connections for one round. Each transfer is one call of a function, and one commit. */
  measure(clients: number, accounts: number): Promise<TransferRate>
  stop(): Promise<void>
}

const ROUND_SECONDS = 2
const TICK_US = 10_000
const START_TRIES_MAX = 300
const PROGRAMS = ['initdb', 'postgres', 'pgbench', 'psql'] as const
const run = promisify(execFile)

/** An entry with a unique id, and the two accounts of the merchant. A repeated id changes nothing. */
const SCHEMA = `
create table accounts(merchant_id bigint primary key, available bigint not null, clearing bigint not null);
create table entries(id text primary key, merchant_id bigint not null, amount bigint not null, payment_id text not null,
  reason text not null, available bigint not null, created_at timestamptz not null default now());
insert into accounts select n, 0, 0 from generate_series(0, 9999) n;
create function transfer(entry_id text, merchant bigint, moved bigint) returns bigint language plpgsql as $$
declare after bigint;
begin
  select available into after from entries where id = entry_id;
  if found then return after; end if;
  update accounts set available = available + moved, clearing = clearing - moved where merchant_id = merchant
    returning available into after;
  insert into entries values (entry_id, merchant, moved, entry_id, 'deposit', after);
  return after;
end $$;
`
const SCRIPT = `
\\set id random(1, 9223372036854775807)
\\set merchant random(0, :accounts - 1)
select transfer('019aa3c0-0000-7000-' || :id, :merchant, 100);
`

/** Starts the server in `directory`. Returns why it cannot when PostgreSQL is not installed or does not start. */
export async function startPostgres(
  directory: string,
): Promise<PostgresTransfers | { readonly skip: string }> {
  const programs = await findPrograms()
  if (programs === undefined) return { skip: 'PostgreSQL with pgbench is not installed' }
  const user = await unprivilegedUser()
  if (user === undefined) return { skip: 'PostgreSQL refuses to run as root, and there is no user postgres' }
  const home = join(directory, 'postgres')
  await chmod(directory, 0o711)
  await mkdir(home)
  await writeFile(join(home, 'schema.sql'), SCHEMA)
  await writeFile(join(home, 'transfer.sql'), SCRIPT)
  if ('uid' in user) await chown(home, user.uid, user.gid)
  const options = { ...user, cwd: home, env: { ...process.env, PGHOST: home, PGDATABASE: 'postgres' } }
  const data = join(home, 'data')
  await run(programs.initdb, ['-D', data, '-A', 'trust', '-E', 'UTF8', '--no-locale'], options)
  const server = spawn(programs.postgres, ['-D', data, '-k', home, '-c', 'listen_addresses='], {
    ...options,
    stdio: 'ignore',
  })
  const psql = ['-q', '-v', 'ON_ERROR_STOP=1', '-f', join(home, 'schema.sql')]
  for (let tries = 1; ; tries += 1) {
    try {
      await run(programs.psql, psql, options)
      break
    } catch (error) {
      if (tries === START_TRIES_MAX) throw error
      await sleep(100)
    }
  }
  return {
    async measure(clients, accounts) {
      const pid = server.pid ?? 0
      const before_us = await cpuOfTree(pid)
      const script = ['-f', join(home, 'transfer.sql'), '-D', `accounts=${accounts}`]
      const load = ['-n', '-M', 'prepared', '-T', `${ROUND_SECONDS}`, '-c', `${clients}`, ...script]
      const { stdout } = await run(programs.pgbench, load, options)
      const transfers_per_second = Number(/tps = ([\d.]+)/.exec(stdout)?.[1])
      const count = Number(/actually processed: (\d+)/.exec(stdout)?.[1])
      return { transfers_per_second, cpu_us: ((await cpuOfTree(pid)) - before_us) / count }
    },
    async stop() {
      const exit = once(server, 'exit')
      server.kill('SIGINT')
      await exit
    },
  }
}

/** The programs, where Debian keeps them or in the search path; `undefined` unless all are there. */
async function findPrograms(): Promise<{ [Name in (typeof PROGRAMS)[number]]: string } | undefined> {
  const debian = '/usr/lib/postgresql'
  const versions = await readdir(debian).catch(() => [])
  const folders = versions.map((version) => join(debian, version, 'bin'))
  const [initdb, postgres, pgbench, psql] = PROGRAMS.map((name) => findProgram(name, folders))
  return initdb && postgres && pgbench && psql ? { initdb, postgres, pgbench, psql } : undefined
}

/** The user to run as: this one, or `postgres` instead of root. */
async function unprivilegedUser(): Promise<{ uid: number; gid: number } | object | undefined> {
  if (process.getuid?.() !== 0) return {}
  try {
    const ids = await Promise.all(['-u', '-g'].map((option) => run('id', [option, 'postgres'])))
    const [uid = 0, gid = 0] = ids.map(({ stdout }) => Number(stdout))
    return { uid, gid }
  } catch {
    return undefined
  }
}

/** The processor time of a server: of its first process with all children that ended, and of the living children. */
async function cpuOfTree(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  const living = await Promise.all(children.trim().split(/\s+/).map(ticksOf))
  const [own = 0, ended = 0] = await ticksOf(String(pid))
  return (own + ended + living.reduce((sum, [ticks = 0]) => sum + ticks, 0)) * TICK_US
}

/** The ticks of a process, and of its children that ended. Counted after its name, as in `cpuTime`. */
async function ticksOf(pid: string): Promise<number[]> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const sum = (...positions: number[]): number =>
    positions.reduce((ticks, at) => ticks + Number(fields[at] ?? 0), 0)
  return [sum(11, 12), sum(13, 14)]
}
