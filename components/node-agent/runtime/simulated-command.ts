/**
 * Simulated command: predicts the output, end time and exit code of a container's command before it starts. It predicts commands
 * that the simulated shell supports. The prediction is not stored: a restarted agent computes the same one again.
 */
import type { Container, Pod } from '../../api/generated/types.ts'
import { controllerOf } from '../../machinery/objects/object.ts'
import { environmentOf, hostnameOf } from './simulated-exec.ts'
import { runSimulated } from './simulated-shell.ts'
import { withReferences } from './variable-references.ts'

/** A line of output, and its time after the start. */
export interface Written {
  readonly afterMs: number
  readonly text: string
  /** Without a line break. */
  readonly isPartial?: true
}

/** The predicted course of a container. */
export interface Course {
  /** The lines in order; undefined: the default output of containers without a prediction. */
  readonly output: readonly Written[] | undefined
  readonly endsAfterMs: number
  readonly exitCode: number
}

/** The command's outcome cannot be predicted. */
class Unforeseen extends Error {}

/** How long a container of a Job runs when nothing says what it does. */
const workMs = 1000

/** The outcome of longer commands counts as unknown. */
const mostCharacters = 16_384

/**
 * The shell that a container with open stdin runs for attached clients; undefined if it runs another command. A container
 * without a command is assumed to run a shell.
 */
export function shellOf({ command = [], args = [], stdin }: Container): string[] | undefined {
  const words = [...command, ...args]
  if (stdin !== true) return undefined
  const [name = 'sh'] = words
  return /^(\/bin\/)?(ba)?sh$/.test(name) && words.length <= 1 ? ['sh'] : undefined
}

/** A command with its environment. */
interface Foreseen {
  readonly words: readonly string[]
  readonly pod: Pod
  readonly variables: () => Promise<Readonly<Record<string, string>>>
  /** Stdin is open. */
  readonly hasInput?: boolean
}

/** The predicted course of a command; undefined if it is empty, or not fully supported by the simulated shell. */
export async function courseOfWords(foreseen: Foreseen): Promise<Course | undefined> {
  const { words, pod, variables, hasInput = false } = foreseen
  const length = words.reduce((sum, word) => sum + word.length, 0)
  if (words.length === 0 || length > mostCharacters) return undefined
  const output: Written[] = []
  let nowMs = 0
  let line = ''
  const out = async (text: string | Buffer): Promise<void> => {
    const lines = (line + text.toString()).split('\n')
    line = lines.pop() ?? ''
    for (const each of lines) output.push({ afterMs: nowMs, text: each })
  }
  const found = await variables()
  const references = new Map(Object.entries(found))
  const context = {
    environment: environmentOf(pod, found),
    hostname: hostnameOf(pod),
    stdin: () => {
      if (hasInput) throw new Unforeseen('it reads from an open stdin')
      return undefined
    },
    out,
    err: async (text: string) => {
      throw new Unforeseen(text)
    },
    trace: out,
    isTerminal: false,
    clock: {
      sleep: async (ms: number) => {
        nowMs += ms
      },
    },
    signal: new AbortController().signal,
  }
  try {
    const command = words.map((word) => withReferences(word, (name) => references.get(name)))
    const exitCode = await runSimulated(command, context)
    if (line !== '') output.push({ afterMs: nowMs, text: line, isPartial: true })
    return { output, endsAfterMs: nowMs, exitCode }
  } catch (error) {
    if (error instanceof Unforeseen) return undefined
    throw error
  }
}

/** The predicted course of the container's command. Arguments without a command count as the command, as in images without one. */
export async function courseOfCommand(
  pod: Pod,
  container: Container,
  variables: Foreseen['variables'],
): Promise<Course | undefined> {
  const words = [...(container.command ?? []), ...(container.args ?? [])]
  return await courseOfWords({ words, pod, variables, hasInput: container.stdin === true })
}

/** The course of a container whose command is not known in full; undefined: it runs until it is stopped. */
export function courseOfUnknown(pod: Pod, name: string): Course | undefined {
  const end = (afterMs: number): Course => ({
    output: undefined,
    endsAfterMs: afterMs,
    exitCode: 0,
  })
  const { containers = [], initContainers = [] } = pod.spec ?? {}
  const init = initContainers.find((one) => one.name === name)
  // The pod waits for what an init container does; it has nothing to do.
  if (init !== undefined) return init.restartPolicy === 'Always' ? undefined : end(0)
  // The work of a Job is meant to end, unless a user types into it.
  const own = containers.find((one) => one.name === name)
  const isWork = own !== undefined && own.stdin !== true && controllerOf(pod)?.kind === 'Job'
  return isWork ? end(workMs) : undefined
}
