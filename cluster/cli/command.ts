/** Command: one thing `skiff` can do, declared as data: flags, arguments, help; and how a command line becomes a call of it. */
import type { Clock } from '../../components/component-base/clock.ts'
import {
  defineFlags,
  describeFlags,
  flag,
  FlagError,
  nearestName,
  parseFlags,
} from '../../components/component-base/flags.ts'
import type { FlagDeclarations, FlagValues } from '../../components/component-base/flags.ts'
import { ClusterError } from '../cluster-error.ts'
import { asTyped } from './terminal.ts'
import type { Terminal } from './terminal.ts'

/** What a command works with besides its flags. */
export interface CommandContext {
  readonly terminal: Terminal
  readonly clock: Clock
  /** Folder that holds all clusters' state directories. */
  readonly stateRoot: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Aborts on the first Ctrl-C or TERM. */
  readonly signal: AbortSignal
}

interface Argument {
  readonly name: string
  readonly isOptional?: boolean
  /** Takes all that follow; only the last one may. */
  readonly isRepeated?: boolean
}

export interface Command<D extends FlagDeclarations = FlagDeclarations> {
  /** All its words: `node add`. */
  readonly name: string
  /** One line for the list of commands. */
  readonly summary: string
  /** Further paragraphs of its help. */
  readonly description?: string
  readonly arguments?: readonly Argument[]
  readonly flags: D
  /** Whole command lines, each with what it does. */
  readonly examples: readonly (readonly [line: string, effect: string])[]
  /** True when `run` itself undoes or ends what it does when the context's signal aborts; else it is just left. */
  readonly handlesInterrupt?: boolean
  /** Resolves with the exit code. */
  run(
    context: CommandContext,
    input: { flags: FlagValues<D & typeof helpFlag>; args: readonly string[] },
  ): Promise<number>
}

/** Keeps the exact type of the flags for `run`. */
export function defineCommand<D extends FlagDeclarations>(command: Command<D>): Command {
  return command as unknown as Command
}

/** One word of the command line: a command, or a group whose commands have a second word. `load` is called when it is needed. */
export interface CommandEntry {
  readonly name: string
  readonly summary: string
  load(): Promise<readonly Command[]>
}

const helpFlag = defineFlags({
  help: flag.bool('Show this help.', false),
  'deprecation-warnings': flag.bool('Warn of deprecated flags that are given.', true, {
    hidden: true,
  }),
})

/** Flags that many commands share. */
export const nameFlag = defineFlags({
  name: flag.string('Name of the cluster.', 'default'),
})
export const outputFlag = defineFlags({
  output: flag.string('How data is printed.', 'text', { choices: ['text', 'json'] }),
})

/** Short flags, and the long ones that they stand for: the first that the command has. */
export const shortFlags: Readonly<Record<string, readonly string[]>> = {
  '-h': ['help'],
  '-n': ['namespace', 'name'],
  '-A': ['all-namespaces'],
  '-o': ['output'],
  '-f': ['follow', 'filename'],
}

/** Separates flags from arguments; `--` ends the flags. Short flags become long ones. */
function splitWords(
  words: readonly string[],
  declarations: FlagDeclarations,
): { flagWords: string[]; args: string[] } {
  const flagWords: string[] = []
  const args: string[] = []
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? ''
    if (word === '--') {
      args.push(...words.slice(index + 1))
      break
    }
    if (!word.startsWith('-') || word === '-') {
      args.push(word)
      continue
    }
    // `-o json`, `-ojson` and `-o=json`, as kubectl's.
    const attached = /^(-[a-zA-Z])=?([^=].*)$/s.exec(word)
    if (attached !== null) {
      const [, letter = '', value = ''] = attached
      const long = shortFlags[letter]?.find((name) => Object.hasOwn(declarations, name))
      if (long !== undefined && declarations[long]?.type !== 'bool') {
        flagWords.push(`--${long}=${value}`)
        continue
      }
    }
    const names = shortFlags[word]
    const short = names?.find((name) => Object.hasOwn(declarations, name)) ?? names?.at(-1)
    const long = short === undefined ? word : `--${short}`
    if (/^-[a-zA-Z]$/.test(long)) throw new FlagError(`unknown flag ${word}`)
    flagWords.push(long)
    const declared = declarations[long.replace(/^--?/, '')]
    const takesNext = declared !== undefined && declared.type !== 'bool' && !long.includes('=')
    const next = words[index + 1]
    if (takesNext && next !== undefined) {
      flagWords.push(next)
      index += 1
    }
  }
  return { flagWords, args }
}

function checkArguments(command: Command, args: readonly string[]): void {
  const declared = command.arguments ?? []
  const missing = declared.find((one, index) => !one.isOptional && args[index] === undefined)
  const isOpen = declared.at(-1)?.isRepeated === true
  const hint = `see: skiff ${command.name} --help`
  if (missing !== undefined) {
    throw new ClusterError('usage', `skiff ${command.name} needs ${missing.name}`, { hint })
  }
  const extra = isOpen ? undefined : args[declared.length]
  if (extra !== undefined) {
    throw new ClusterError('usage', `skiff ${command.name}: unexpected argument "${extra}"`, {
      hint,
    })
  }
}

/** `skiff token delete TOKEN [flags]`. */
export function usageLine(command: Command): string {
  const args = (command.arguments ?? []).map(({ name, isOptional, isRepeated }) => {
    const text = isRepeated ? `${name}...` : name
    return isOptional ? `[${text}]` : text
  })
  return ['skiff', command.name, ...args, '[flags]'].join(' ')
}

function commandHelp(command: Command): string {
  const description = command.description === undefined ? '' : `\n${command.description}\n`
  const examples = command.examples.map(([line, effect]) => `  # ${effect}\n  ${line}\n`).join('\n')
  return (
    `${command.summary}\n${description}\nUsage:\n  ${usageLine(command)}\n\n` +
    `Examples:\n${examples}\nFlags:\n${describeFlags({ ...command.flags, ...helpFlag })}`
  )
}

/** The list of a group's commands. */
export function groupHelp(name: string, commands: readonly Command[]): string {
  const width = Math.max(...commands.map((command) => command.name.length))
  const lines = commands.map((command) => `  ${command.name.padEnd(width)}  ${command.summary}\n`)
  return `Usage:\n  skiff ${name} COMMAND\n\nCommands:\n${lines.join('')}\nHelp on one of them: skiff ${name} COMMAND --help\n`
}

export function unknownCommand(word: string, names: readonly string[], prefix = ''): ClusterError {
  const nearest = nearestName(word, names)
  return new ClusterError('usage', `unknown command "${prefix}${word}"`, {
    hint:
      nearest === undefined
        ? `see: skiff ${prefix}--help`
        : `did you mean: skiff ${prefix}${nearest}`,
  })
}

/** Rejects when the signal aborts. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
  })
}

/** Runs a command with the words after its name. Wrong use is a ClusterError of kind `usage`. */
export async function runCommand(
  command: Command,
  words: readonly string[],
  context: CommandContext,
): Promise<number> {
  const declarations = { ...command.flags, ...helpFlag }
  try {
    const { flagWords, args } = splitWords(words, declarations)
    const warnings: string[] = []
    const flags = parseFlags(declarations, flagWords, (text) => warnings.push(text))
    if (flags['deprecation-warnings']) {
      for (const text of warnings) context.terminal.err(`warning: ${text}\n`)
    }
    if (flags.help) {
      context.terminal.out(asTyped(commandHelp(command), context.environment))
      return 0
    }
    checkArguments(command, args)
    // While the command was loaded; what waits for the signal from now on would not hear of it.
    context.signal.throwIfAborted()
    const running = command.run(context, { flags, args })
    return await (command.handlesInterrupt === true
      ? running
      : Promise.race([running, aborted(context.signal)]))
  } catch (error) {
    if (!(error instanceof FlagError)) throw error
    throw new ClusterError('usage', `skiff ${command.name}: ${error.message}`, {
      hint: `see: skiff ${command.name} --help`,
      cause: error,
    })
  }
}
