/** useExplanation: the scheduler's verdict on a pod, asked for again while it is shown. */
import { useEffect, useState } from 'preact/hooks'
import type { PodExplanation } from '../../../../components/api/pod-explanation.ts'
import { sendTo } from '../../app/api.ts'
import { messageOf } from '../../app/message-of.ts'

/** The scheduler filters and scores every node for each answer. */
const everyMs = 4000

export interface Explained {
  readonly explanation: PodExplanation | undefined
  /** Why there is none. */
  readonly fault: string | undefined
}

const nothing: Explained = { explanation: undefined, fault: undefined }

/** `key`: `namespace/name`; undefined asks for nothing. */
export function useExplanation(key: string | undefined): Explained {
  const [explained, setExplained] = useState(nothing)
  useEffect(() => {
    setExplained(nothing)
    if (key === undefined) return undefined
    const left = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async (): Promise<void> => {
      try {
        const answer = await sendTo(`/lab/scheduling/${key}`, { signal: left.signal })
        setExplained({ explanation: (await answer.json()) as PodExplanation, fault: undefined })
      } catch (error) {
        if (left.signal.aborted) return
        const fault = messageOf(error)
        setExplained({ explanation: undefined, fault })
      }
      timer = setTimeout(() => void ask(), everyMs)
    }
    void ask()
    return () => {
      left.abort()
      clearTimeout(timer)
    }
  }, [key])
  return explained
}
