/** PodShell: a shell in a container, line by line. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { at } from '../app/time.ts'
import { createEchoFilter } from './echo-filter.ts'
import { openCommand, type CommandStream, type ContainerPlace } from './pod-streams.ts'
import { TerminalText } from './terminal-text.ts'
import { TextPane } from './text-pane.tsx'

const command = ['sh']
const mostHistory = 200
const interrupt = '\x03'
const endOfInput = '\x04'

type State = 'connecting' | 'open' | 'ended'

interface ShellSession {
  readonly state: State
  readonly lines: readonly string[]
  readonly from: number
  readonly send: (line: string) => void
  readonly control: (character: string) => void
}

function useShell({ namespace, pod, container }: ContainerPlace, attempt: number): ShellSession {
  const [state, setState] = useState<State>('connecting')
  const [shown, setShown] = useState<{ lines: readonly string[]; from: number }>()
  const session = useRef<{ stream: CommandStream; send: (line: string) => void }>()
  useEffect(() => {
    const text = new TerminalText()
    const echo = createEchoFilter()
    const show = (more: string): void => {
      text.write(more)
      setShown({ lines: text.lines, from: text.dropped })
    }
    setState('connecting')
    const stream = openCommand(
      { namespace, pod, container },
      {
        command,
        onOpen: () => setState('open'),
        onText: (more) => show(echo.received(more)),
        onEnd: (why) => {
          show(`\r\n[${why === '' ? 'the shell has ended' : why}]\r\n`)
          setState('ended')
        },
      },
    )
    const send = (line: string): void => {
      show(`${line}\r\n`)
      echo.sent(line)
      stream.write(`${line}\n`)
    }
    session.current = { stream, send }
    show('')
    return () => stream.close()
  }, [namespace, pod, container, attempt])
  return {
    state,
    lines: shown?.lines ?? [],
    from: shown?.from ?? 0,
    send: (line) => session.current?.send(line),
    control: (character) => session.current?.stream.write(character),
  }
}

interface InputProps {
  readonly isOpen: boolean
  readonly onLine: (line: string) => void
  readonly onControl: (character: string) => void
}

function InputLine({ isOpen, onLine, onControl }: InputProps) {
  const [line, setLine] = useState('')
  const [history, setHistory] = useState<readonly string[]>([])
  const [place, setPlace] = useState(0)
  const recall = (step: number): void => {
    const next = Math.max(0, Math.min(history.length, place + step))
    setPlace(next)
    setLine(history[next] ?? '')
  }
  const submit = (): void => {
    onLine(line)
    const kept = line === '' || history.at(-1) === line ? history : [...history, line]
    setHistory(kept.slice(-mostHistory))
    setPlace(Math.min(kept.length, mostHistory))
    setLine('')
  }
  const onKeyDown = (event: KeyboardEvent & { readonly currentTarget: HTMLInputElement }): void => {
    const { key, ctrlKey, currentTarget } = event
    const hasSelection = currentTarget.selectionStart !== currentTarget.selectionEnd
    if (key === 'Enter') submit()
    else if (key === 'ArrowUp') recall(-1)
    else if (key === 'ArrowDown') recall(1)
    else if (ctrlKey && key === 'c' && !hasSelection) onControl(interrupt)
    else if (ctrlKey && key === 'd' && line === '') onControl(endOfInput)
    else return
    event.preventDefault()
  }
  return (
    <input
      class="shell-input"
      aria-label="Command"
      placeholder={isOpen ? 'Type a command; ↑ shows earlier ones, Ctrl-C interrupts' : ''}
      value={line}
      disabled={!isOpen}
      spellcheck={false}
      autocapitalize="off"
      autocomplete="off"
      onInput={({ currentTarget }) => setLine(currentTarget.value)}
      onKeyDown={onKeyDown}
    />
  )
}

const notes: Readonly<Record<State, string>> = {
  connecting: 'Connecting',
  open: 'Connected',
  ended: 'Ended',
}

function OpenShell(of: ContainerPlace) {
  const [attempt, setAttempt] = useState(0)
  const { state, lines, from, send, control } = useShell(of, attempt)
  return (
    <div class="pod-shell">
      <div class="stream-bar">
        <span role="status">{notes[state]}</span>
        {state === 'ended' && (
          <button type="button" onClick={() => setAttempt(attempt + 1)}>
            Open again
          </button>
        )}
      </div>
      <TextPane label={`Shell in ${of.container}`} lines={lines} from={from} />
      <InputLine isOpen={state === 'open'} onLine={send} onControl={control} />
    </div>
  )
}

export function PodShell(of: ContainerPlace) {
  if (at.value !== undefined) return <p class="empty">A shell is possible only in the present.</p>
  return <OpenShell {...of} />
}
