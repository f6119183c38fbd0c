/** PodLog: the log of a container, followed. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { messageOf } from '../app/message-of.ts'
import { readLog, type ContainerPlace } from './pod-streams.ts'
import { TerminalText } from './terminal-text.ts'
import { TextPane } from './text-pane.tsx'

const tailLines = 2000
/** A busy log draws ten times a second. */
const drawMs = 100

interface ShownLog {
  readonly lines: readonly string[]
  readonly from: number
  readonly note: string
}

function useLog(of: ContainerPlace, options: { follow: boolean; previous: boolean }): ShownLog {
  const { namespace, pod, container } = of
  const { follow, previous } = options
  const [shown, setShown] = useState<ShownLog>({ lines: [], from: 0, note: 'Reading' })
  useEffect(() => {
    const left = new AbortController()
    const text = new TerminalText()
    let note = follow ? 'Following' : 'Reading'
    let timer: ReturnType<typeof setTimeout> | undefined
    const draw = (): void => {
      timer = undefined
      const { lines, dropped } = text
      const whole = lines.at(-1) === '' ? lines.slice(0, -1) : lines
      if (!left.signal.aborted) setShown({ lines: whole, from: dropped, note })
    }
    const end = (why: string): void => {
      note = why
      draw()
    }
    const { signal } = left
    const onText = (more: string): void => {
      text.write(more)
      timer ??= setTimeout(draw, drawMs)
    }
    draw()
    readLog({ namespace, pod, container }, { follow, previous, tailLines, signal, onText }).then(
      () => end(follow ? 'The log has ended' : 'As of now'),
      (error: unknown) => end(`The log cannot be read: ${messageOf(error)}`),
    )
    return () => {
      left.abort()
      clearTimeout(timer)
    }
  }, [namespace, pod, container, follow, previous])
  return shown
}

export function PodLog(of: ContainerPlace) {
  const [follow, setFollow] = useState(true)
  const [previous, setPrevious] = useState(false)
  const [filter, setFilter] = useState('')
  const { lines, from, note } = useLog(of, { follow: follow && !previous, previous })
  const shown = useMemo(
    () => (filter === '' ? lines : lines.filter((line) => line.includes(filter))),
    [lines, filter],
  )
  return (
    <div class="pod-log">
      <div class="stream-bar">
        <label>
          <input
            type="checkbox"
            checked={follow && !previous}
            disabled={previous}
            onChange={() => setFollow(!follow)}
          />{' '}
          Follow
        </label>
        <label>
          <input type="checkbox" checked={previous} onChange={() => setPrevious(!previous)} />{' '}
          Before the last restart
        </label>
        <input
          type="search"
          placeholder="Lines that contain"
          aria-label="Show lines that contain"
          value={filter}
          onInput={({ currentTarget }) => setFilter(currentTarget.value)}
        />
        <span role="status">
          {note}, {shown.length.toLocaleString('en')} lines
        </span>
      </div>
      <TextPane label={`Log of ${of.container}`} lines={shown} from={from} />
    </div>
  )
}
