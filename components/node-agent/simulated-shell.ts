/**
 * Simulated shell: the few commands that a container which exists only as a record knows: what they print is true of the
 * container, and everything else is not found. No files, no pipes.
 */
import type { Readable } from 'node:stream'
import type { Clock } from '../component-base/clock.ts'
import { simulatedTime } from './simulation.ts'

export interface ShellContext {
  readonly environment: Readonly<Record<string, string>>
  readonly hostname: string
  readonly stdin: Readable | undefined
  /** Resolves when there is room for more. */
  readonly out: (text: string | Buffer) => Promise<void>
  readonly err: (text: string) => Promise<void>
  /** Shows a prompt, and reads line by line. */
  readonly isTerminal: boolean
  readonly clock: Pick<Clock, 'sleep'>
  /** Aborts when the client is gone or the container ends. */
  readonly signal: AbortSignal
}

/** As a shell's: not found, and killed by SIGKILL. */
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
        for await (const chunk of (stdin ?? []) as AsyncIterable<Buffer>) await out(chunk)
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
  sh: async (args, context) =>
    args[0] === '-c' ? await runScript(args[1] ?? '', context) : await runInteractive(context),
}

const nameOf = (path: string): string => path.replace(/^(\/usr)?\/bin\//, '')

class Exit extends Error {
  readonly code: number
  constructor(code: number) {
    super(`exit ${code}`)
    this.code = code
  }
}

interface Statement {
  /** When it is run: always, or depending on the code of the one before it. */
  readonly when: ';' | '&&' | '||'
  readonly words: readonly string[]
}

class SyntaxFault extends Error {}

/** Splits a script into its statements; quotes and `$NAME` work as in a shell, everything else that a shell can do is refused. */
function parseScript(script: string, valueOf: (name: string) => string): Statement[] {
  const statements: Statement[] = []
  let words: string[] = []
  let word: string | undefined
  let when: Statement['when'] = ';'
  const endWord = (): void => {
    if (word !== undefined) words.push(word)
    word = undefined
  }
  const endStatement = (next: Statement['when']): void => {
    endWord()
    if (words.length > 0) statements.push({ when, words })
    words = []
    when = next
  }
  const token =
    /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|(&&|\|\||;|\n)|(#[^\n]*)|([ \t\r]+)|(\$\{\w+\}|\$(?:\w+|\?)?|[^\s'"\\;&|<>()`{}$]+)|([^])/gy
  const filled = (text: string): string =>
    text.replaceAll(/\$(?:\{(\w+)\}|(\w+|\?))/g, (_, braced?: string, bare?: string) =>
      valueOf(braced ?? bare ?? ''),
    )
  while (token.lastIndex < script.length) {
    const match = token.exec(script)
    if (match === null) return statements
    const [, single, double, escaped, separator, comment, space, plain, foreign] = match
    if (single !== undefined) word = (word ?? '') + single
    else if (double !== undefined)
      word = (word ?? '') + filled(double.replaceAll(/\\(["\\$])/g, '$1'))
    else if (escaped !== undefined) word = (word ?? '') + escaped
    else if (separator !== undefined) {
      endStatement(separator === '&&' || separator === '||' ? separator : ';')
    } else if (space !== undefined) endWord()
    else if (foreign !== undefined) {
      throw new SyntaxFault(
        foreign === '"' || foreign === "'"
          ? 'unterminated quoted string'
          : `"${foreign}" is more than a simulated container can do`,
      )
    } else if (plain !== undefined) word = (word ?? '') + filled(plain)
    else if (comment !== undefined) endWord()
  }
  endStatement(';')
  return statements
}

async function runStatement(
  [name = '', ...args]: readonly string[],
  context: ShellContext,
  last: number,
): Promise<number> {
  if (name === 'exit') {
    const code = args[0] === undefined ? last : Number(args[0])
    throw new Exit(Number.isInteger(code) ? code & 0xff : 2)
  }
  const run = Object.hasOwn(commands, nameOf(name)) ? commands[nameOf(name)] : undefined
  if (run !== undefined) return await run(args, context)
  await context.err(`sh: ${name}: not found\n`)
  return notFoundCode
}

/** Statement after statement; `exit` is thrown. */
async function runStatements(
  script: string,
  context: ShellContext,
  before: number,
): Promise<number> {
  let last = before
  const valueOf = (name: string): string =>
    name === '?' ? String(last) : (context.environment[name] ?? '')
  try {
    // Parsed again before each: what `$?` stands for is known no earlier.
    for (let index = 0; ; index += 1) {
      const statement = parseScript(script, valueOf)[index]
      if (statement === undefined) return last
      const { when, words } = statement
      if ((when === '&&' && last !== 0) || (when === '||' && last === 0)) continue
      last = await runStatement(words, context, last)
    }
  } catch (error) {
    if (!(error instanceof SyntaxFault)) throw error
    await context.err(`sh: syntax error: ${error.message}\n`)
    return 2
  }
}

async function runScript(script: string, context: ShellContext): Promise<number> {
  try {
    return await runStatements(script, context, 0)
  } catch (error) {
    if (error instanceof Exit) return error.code
    throw error
  }
}

async function runInteractive(context: ShellContext): Promise<number> {
  const { stdin, out, isTerminal } = context
  const prompt = isTerminal ? '/ # ' : ''
  let last = 0
  let rest = ''
  try {
    await out(prompt)
    for await (const chunk of (stdin ?? []) as AsyncIterable<Buffer>) {
      const lines = (rest + chunk.toString()).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) {
        last = await runStatements(line, { ...context, stdin: undefined }, last)
        await out(prompt)
      }
    }
    return await runStatements(rest, { ...context, stdin: undefined }, last)
  } catch (error) {
    if (error instanceof Exit) return error.code
    throw error
  }
}

/** Runs a command to its end and resolves with its exit code; 137 when it is cut off. */
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
