import type { ReactNode } from 'react'
import {
  ShardStopSchema,
  type Verification,
  VerificationSchema,
} from '#gen/multihub/balances/v1/verification_pb.ts'
import { VerificationService } from '#gen/multihub/balances/v1/verification_service_pb.ts'
import { resumeShard, verifyAudit, verifyLedger } from '../../forms/verification.ts'
import { ActBar } from '../acts/act-bar.tsx'
import { useRpc } from '../call/use-rpc.ts'
import { ProblemNote } from '../parts/problem-note.tsx'
import { useTitle } from '../parts/title.ts'
import { Facts, State } from '../parts/values.tsx'

/** Whether the books and the audit trail are what they should be, and how far a check is. */
export function VerificationPage(): ReactNode {
  useTitle('Verification')
  const { data, error } = useRpc(VerificationService.method.getVerification, {})
  return (
    <>
      <h1>Verification</h1>
      <p className="quiet">Whether the ledger and the audit trail are as they were written.</p>
      <section>
        <h2>Ledger</h2>
        {error !== null && <ProblemNote error={error} />}
        <ActBar acts={[verifyLedger]} item={undefined} />
        {data?.stops.map((stop) => (
          <section key={stop.shard} className="note bad" aria-label={`Shard ${stop.shard} is stopped`}>
            <Facts desc={ShardStopSchema} message={stop} />
            <ActBar acts={[resumeShard]} item={stop} />
          </section>
        ))}
        {data?.verification && <Progress verification={data.verification} />}
        {data !== undefined && data.verification === undefined && <p>It was not verified yet.</p>}
      </section>
      <section>
        <h2>Audit trail</h2>
        <p className="quiet">
          Its head goes to the log each minute: compare them, so that nobody can replace all of it.
        </p>
        <ActBar acts={[verifyAudit]} item={undefined} is_main={false} />
      </section>
    </>
  )
}

function Progress({ verification }: { readonly verification: Verification }): ReactNode {
  const { endTime, consistent, shardsDone, shardsTotal, entries } = verification
  const word = endTime === undefined ? 'running' : consistent ? 'consistent' : 'inconsistent'
  return (
    <>
      <p role="status">
        <State word={word} /> {entries.toLocaleString('en')} entries in {shardsDone} of {shardsTotal} shards
      </p>
      {endTime === undefined && (
        <progress aria-label="Shards that are verified" max={shardsTotal} value={shardsDone} />
      )}
      <Facts
        desc={VerificationSchema}
        message={verification}
        without={['consistent', 'shards', 'shards_done', 'shards_total']}
      />
    </>
  )
}
