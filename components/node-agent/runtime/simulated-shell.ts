/**
 * Simulated shell: the few commands that simulated containers support. Their output reflects the container's real state; other
 * commands are not found. There are no files and no pipes.
 */
import type { Readable } from 'node:stream'
import type { Clock } from '../../component-base/clock.ts'
import type { ShellOptions } from './shell-options.ts'
import { plainShell, readShellArguments, ShellUsageFault } from './shell-options.ts'
import { expanded, parseScript, SyntaxFault } from './shell-script.ts'
import { simulatedTime } from '../../api/simulation.ts'

export interface ShellContext {
  readonly environment: Readonly<Record<string, string>>
  readonly hostname: string
  /** Called only by commands that read input. */
  readonly stdin: () => Readable | undefined
  /** Resolves when the stream accepts more. */
  readonly out: (text: string | Buffer) => Promise<void>
  readonly err: (text: string) => Promise<void>
  /** The traces of `sh -x` and `sh -v`, on standard error. */
  readonly trace: (text: string) => Promise<void>
  /** Prints a prompt and reads line by line. */
  readonly isTerminal: boolean
  readonly clock: Pick<Clock, 'sleep'>
  /** Aborts when the client disconnects or the container ends. */
  readonly signal: AbortSignal
}

/** A shell's exit codes for a command not found, and for SIGKILL. */
const [notFoundCode, killedCode] = [127, 137]

type Run = (args: readonly string[], context: ShellContext) => Promise<number>

const commands: Readonly<Record<string, Run>> = {
  true: async () => 0,
  false: async () => 1,
  pwd: async (_, { out }) => {
    await out('/\n')
    return 0
  },
  hostname: async (_, { out, hostname }) => {
    await out(`${hostname}\n`)
    return 0
  },
  echo: async (args, { out }) => {
    const isBare = args[0] === '-n'
    await out(`${(isBare ? args.slice(1) : args).join(' ')}${isBare ? '' : '\n'}`)
    return 0
  },
  env: async (_, { out, environment }) => {
    await out(
      Object.entries(environment)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    )
    return 0
  },
  cat: async (args, { out, err, stdin }) => {
    let code = 0
    for (const name of args.length === 0 ? ['-'] : args) {
      if (name === '-') {
        for await (const chunk of (stdin() ?? []) as AsyncIterable<Buffer>) await out(chunk)
      } else {
        await err(`cat: can't open '${name}': No such file or directory\n`)
        code = 1
      }
    }
    return code
  },
  sleep: async ([time = ''], { err, clock, signal }) => {
    const ms = simulatedTime(time)
    if (ms === undefined) {
      await err(`sleep: invalid number '${time}'\n`)
      return 1
    }
    await clock.sleep(ms, signal)
    return 0
  },
  sh: async (args, context) => await runShell(args, context),
}

const nameOf = (path: string): string => path.replace(/^(\/usr)?\/bin\//, '')

class Exit extends Error {
  readonly code: number
  constructor(code: number) {
    super(`exit ${code}`)
    this.code = code
  }
}

/** A shell's state between statements. */
interface ShellState {
  variables: Record<string, string>
  options: ShellOptions
  /** `$0`, `$1` and so on. */
  parameters: readonly string[]
  last: number
}

class UnsetFault extends Error {}

/** The value of `$NAME`. With `nounset`, throws an UnsetFault for an unset variable. */
function valueIn(state: ShellState, name: string): string {
  const { variables, options, parameters, last } = state
  if (name === '?') return String(last)
  if (name === '#') return String(parameters.length - 1)
  if (name === '@' || name === '*') return parameters.slice(1).join(' ')
  const value = /^\d+$/.test(name) ? parameters[Number(name)] : variables[name]
  if (value === undefined && options.nounset) throw new UnsetFault(`${name}: parameter not set`)
  return value ?? ''
}

const assignment = /^([A-Za-z_]\w*)=([^]*)$/

/** One command, with the variables set for this command only. */
async function runStatement(
  words: readonly string[],
  context: ShellContext,
  state: ShellState,
): Promise<number> {
  const own: Record<string, string> = {}
  const first = words.findIndex((word) => {
    const [, name, value] = assignment.exec(word) ?? []
    if (name === undefined) return true
    own[name] = value ?? ''
    return false
  })
  if (first < 0) {
    Object.assign(state.variables, own)
    return 0
  }
  const [name = '', ...args] = words.slice(first)
  if (name === 'exit') {
    const code = args[0] === undefined ? state.last : Number(args[0])
    throw new Exit(Number.isInteger(code) ? code & 0xff : 2)
  }
  if (name === 'set') {
    const { options, operands } = readShellArguments(args, state.options)
    state.options = options
    if (operands.length > 0 || args.includes('--')) {
      state.parameters = [state.parameters[0] ?? 'sh', ...operands]
    }
    return 0
  }
  const run = Object.hasOwn(commands, nameOf(name)) ? commands[nameOf(name)] : undefined
  const environment = { ...state.variables, ...own }
  if (run !== undefined) return await run(args, { ...context, environment })
  await context.err(`sh: ${name}: not found\n`)
  return notFoundCode
}

/** Runs statements in order; `exit` throws. */
async function runStatements(
  script: string,
  context: ShellContext,
  state: ShellState,
): Promise<void> {
  const valueOf = (name: string): string => valueIn(state, name)
  if (state.options.verbose && script !== '') await context.trace(`${script.trimEnd()}\n`)
  try {
    const statements = parseScript(script)
    for (const [index, { when, words }] of statements.entries()) {
      if (state.options.noexec) return
      if ((when === '&&' && state.last !== 0) || (when === '||' && state.last === 0)) continue
      const texts = words.map((word) => expanded(word, valueOf))
      if (state.options.xtrace) await context.trace(`+ ${texts.join(' ')}\n`)
      state.last = await runStatement(texts, context, state)
      const isEndOfList = (statements[index + 1]?.when ?? ';') === ';'
      if (state.options.errexit && state.last !== 0 && isEndOfList) throw new Exit(state.last)
    }
  } catch (error) {
    const isUsage = error instanceof ShellUsageFault || error instanceof UnsetFault
    if (!isUsage && !(error instanceof SyntaxFault)) throw error
    await context.err(`sh: ${isUsage ? '' : 'syntax error: '}${error.message}\n`)
    if (isUsage) throw new Exit(2)
    state.last = 2
  }
}

/** `sh` with its arguments: the script of `-c`, or standard input. */
async function runShell(args: readonly string[], context: ShellContext): Promise<number> {
  try {
    const { options, isScript, operands } = readShellArguments(args, plainShell)
    const [first, ...more] = operands
    const state: ShellState = {
      variables: { ...context.environment },
      options,
      parameters: isScript && more.length > 0 ? more : ['sh'],
      last: 0,
    }
    if (!isScript && first === undefined) await runInput(context, state)
    else if (first === undefined) throw new ShellUsageFault('-c requires an argument')
    else if (isScript) await runStatements(first, context, state)
    else throw new ShellUsageFault(`can't open '${first}': No such file or directory`)
    return state.last
  } catch (error) {
    if (error instanceof Exit) return error.code
    if (!(error instanceof ShellUsageFault)) throw error
    await context.err(`sh: ${error.message}\n`)
    return 2
  }
}

async function runInput(context: ShellContext, state: ShellState): Promise<void> {
  const { stdin, out, isTerminal } = context
  const prompt = isTerminal ? '/ # ' : ''
  let rest = ''
  await out(prompt)
  for await (const chunk of (stdin() ?? []) as AsyncIterable<Buffer>) {
    const lines = (rest + chunk.toString()).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      await runStatements(line, { ...context, stdin: () => undefined }, state)
      await out(prompt)
    }
  }
  await runStatements(rest, { ...context, stdin: () => undefined }, state)
}

/** Runs a command to its end. Resolves with its exit code; 137 if it is aborted. */
export async function runSimulated(
  command: readonly string[],
  context: ShellContext,
): Promise<number> {
  const [file = '', ...args] = command
  const run = Object.hasOwn(commands, nameOf(file)) ? commands[nameOf(file)] : undefined
  if (run === undefined) {
    await context.err(
      `OCI runtime exec failed: exec failed: unable to start container process: exec: "${file}": executable file not found in $PATH: unknown\n`,
    )
    return notFoundCode
  }
  try {
    return await run(args, context)
  } catch (error) {
    if (context.signal.aborted) return killedCode
    throw error
  }
}
