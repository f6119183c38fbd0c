/**
 * Simulated command: what a container's own command would write, and when and how it would end, worked out before it starts.
 * So a container whose command is made of the few that the simulated shell knows does what it says, and nothing of it needs
 * to be kept: the same is worked out again after the agent was restarted.
 */
import type { Container, Pod } from '../../api/generated/types.ts'
import { controllerOf } from '../../machinery/objects/object.ts'
import { environmentOf, hostnameOf } from './simulated-exec.ts'
import { runSimulated } from './simulated-shell.ts'
import { withReferences } from './variable-references.ts'

/** A line, and how long after the start it is written. */
export interface Written {
  readonly afterMs: number
  readonly text: string
  /** It has no line break. */
  readonly isPartial?: true
}

/** How a container's life goes without intervention. */
export interface Course {
  /** In the order in which they are written; undefined: as containers write that nothing is known of. */
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
 * The shell that a container with open input runs for whoever attaches to it; undefined when it runs something else. What
 * an image runs by itself is taken for a shell: it waits for input.
 */
export function shellOf({ command = [], args = [], stdin }: Container): string[] | undefined {
  const words = [...command, ...args]
  if (stdin !== true) return undefined
  const [name = 'sh'] = words
  return /^(\/bin\/)?(ba)?sh$/.test(name) && words.length <= 1 ? ['sh'] : undefined
}

/** A command, and what it finds. */
interface Foreseen {
  readonly words: readonly string[]
  readonly pod: Pod
  readonly variables: () => Promise<Readonly<Record<string, string>>>
  /** Its input is open. */
  readonly hasInput?: boolean
}

/** The course that a command takes; undefined when it is empty, or the simulated shell does not know it in full. */
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
      if (hasInput) throw new Unforeseen('somebody may type')
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

/** The course of the container's own command. Arguments without one count as one, as in images that have none of their own. */
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
  // The work of a Job is meant to end, unless somebody types into it.
  const own = containers.find((one) => one.name === name)
  const isWork = own !== undefined && own.stdin !== true && controllerOf(pod)?.kind === 'Job'
  return isWork ? end(workMs) : undefined
}
