/** Command: one command of `skiff`, declared as data (flags, arguments, help), and how a command line is parsed for it. */
import { parseArgs } from 'node:util'
import type { ParseArgsConfig } from 'node:util'
import { aborted } from '../../components/component-base/aborted.ts'
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
import type { ProgramName, Terminal } from './terminal.ts'

/** What a command gets besides its flags. */
export interface CommandContext {
  readonly terminal: Terminal
  readonly clock: Clock
  /** Directory of all clusters' state directories. */
  readonly stateRoot: string
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly program: ProgramName
  /** Aborts on the first Ctrl-C or TERM. */
  readonly signal: AbortSignal
}

interface Argument {
  readonly name: string
  readonly isOptional?: boolean
  /** Takes all remaining words; only the last argument can. */
  readonly isRepeated?: boolean
}

export interface Command<D extends FlagDeclarations = FlagDeclarations> {
  /** Its words: `node add`. */
  readonly name: string
  /** One line for the list of commands. */
  readonly summary: string
  /** Further paragraphs of its help. */
  readonly description?: string
  readonly arguments?: readonly Argument[]
  readonly flags: D
  /** Command lines, each with its effect. */
  readonly examples: readonly (readonly [line: string, effect: string])[]
  /** True when `run` ends by itself when the context's signal aborts; otherwise it is abandoned then. */
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

/** The first word of a command line: a command, or a group of commands with a second word. `load` imports them on demand. */
export interface CommandEntry {
  readonly name: string
  readonly summary: string
  load(): Promise<readonly Command[]>
}

const helpFlag = defineFlags({
  help: flag.bool('Show this help.', false),
  'deprecation-warnings': flag.bool('Print a warning for each deprecated flag.', true, {
    hidden: true,
  }),
})

/** Flags that many commands share. */
export const nameFlag = defineFlags({
  name: flag.string('Name of the cluster.', 'default'),
})
export const outputFlag = defineFlags({
  output: flag.string('Output format.', 'text', { choices: ['text', 'json'] }),
})

/** Short flags, each with the long flags it can stand for; a command uses the first one that it has. */
export const shortFlags: Readonly<Record<string, readonly string[]>> = {
  h: ['help'],
  n: ['namespace', 'name'],
  A: ['all-namespaces'],
  o: ['output'],
  f: ['follow', 'filename'],
}

type ParseOptions = NonNullable<ParseArgsConfig['options']>

function parseOptionsOf(declarations: FlagDeclarations): ParseOptions {
  const options: ParseOptions = {}
  for (const [name, { type }] of Object.entries(declarations)) {
    options[name] = { type: type === 'bool' ? 'boolean' : 'string' }
  }
  for (const [short, names] of Object.entries(shortFlags)) {
    const option = options[names.find((name) => Object.hasOwn(options, name)) ?? '']
    if (option !== undefined) option.short = short
  }
  return options
}

/** Separates flags, as `--name=value`, from arguments; `--` ends the flags. Throws a FlagError for an unknown short flag. */
function splitWords(
  words: readonly string[],
  declarations: FlagDeclarations,
): { flagWords: string[]; args: string[] } {
  const flagWords: string[] = []
  const args: string[] = []
  const { tokens } = parseArgs({
    args: [...words],
    options: parseOptionsOf(declarations),
    allowPositionals: true,
    tokens: true,
    // Unknown flags and missing values are for parseFlags, whose errors name the nearest flag.
    strict: false,
  })
  for (const token of tokens) {
    if (token.kind === 'positional') args.push(token.value)
    if (token.kind !== 'option') continue
    const word = words[token.index] ?? ''
    if (/^-\d/.test(word)) {
      // A negative number or duration: the command rejects it better than "unknown flag -5".
      if (args.at(-1) !== word) args.push(word)
      continue
    }
    const { name, rawName, value } = token
    const isShort = !rawName.startsWith('--')
    if (isShort && name === rawName.slice(1)) throw new FlagError(`unknown flag ${rawName}`)
    // `-o=json` is `-o json`, as in kubectl.
    const text = isShort ? value?.replace(/^=/, '') : value
    flagWords.push(text === undefined ? `--${name}` : `--${name}=${text}`)
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
  return `Usage:\n  skiff ${name} COMMAND\n\nCommands:\n${lines.join('')}\nFor help on a command: skiff ${name} COMMAND --help\n`
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

/** Rejects with `signal.reason` when the signal aborts; never resolves. */
async function interrupted(signal: AbortSignal): Promise<never> {
  await aborted(signal)
  throw signal.reason
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
      context.terminal.out(asTyped(commandHelp(command), context.program))
      return 0
    }
    checkArguments(command, args)
    // The signal may have aborted while the command was loaded.
    context.signal.throwIfAborted()
    const running = command.run(context, { flags, args })
    return await (command.handlesInterrupt === true
      ? running
      : Promise.race([running, interrupted(context.signal)]))
  } catch (error) {
    if (!(error instanceof FlagError)) throw error
    throw new ClusterError('usage', `skiff ${command.name}: ${error.message}`, {
      hint: `see: skiff ${command.name} --help`,
      cause: error,
    })
  }
}
