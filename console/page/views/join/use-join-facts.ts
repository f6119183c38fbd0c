/** useJoinFacts: tokens and certificate requests; read again when a request of the journal may have changed them. */
import { useEffect, useState } from 'preact/hooks'
import type { RequestRecord } from '../../../../components/api/request-record.ts'
import type { JoinFacts } from '../../../protocol/lab.ts'
import { sendTo } from '../../app/api.ts'
import { messageOf } from '../../app/message-of.ts'

/** Without a journal nothing says that something changed. */
const everyMs = 5000
/** Writes come in groups. */
const afterWriteMs = 250

const concerned = new Set(['certificatesigningrequests', 'secrets'])
const reads = new Set(['get', 'list', 'watch'])

/** Position of the last write to what is shown. */
function lastWriteOf(records: readonly RequestRecord[]): number {
  return (
    records.findLast(({ resource, verb }) => concerned.has(resource) && !reads.has(verb))?.seq ?? 0
  )
}

export function useJoinFacts(records: readonly RequestRecord[]): {
  readonly facts: JoinFacts | undefined
  readonly fault: string | undefined
} {
  const [facts, setFacts] = useState<JoinFacts>()
  const [fault, setFault] = useState<string>()
  const written = lastWriteOf(records)
  useEffect(() => {
    const left = new AbortController()
    const read = async (): Promise<void> => {
      try {
        const answer = await sendTo('/lab/join', { signal: left.signal })
        setFacts((await answer.json()) as JoinFacts)
        setFault(undefined)
      } catch (error) {
        if (!left.signal.aborted) setFault(messageOf(error))
      }
    }
    const soon = setTimeout(() => void read(), afterWriteMs)
    const again = setInterval(() => void read(), everyMs)
    return () => {
      left.abort()
      clearTimeout(soon)
      clearInterval(again)
    }
  }, [written])
  return { facts, fault }
}
