/** Shell options: the letters and names of `sh -eux -o NAME -c SCRIPT` and of `set` (POSIX, sh and set). */

/** Options that the simulated shell implements. */
export interface ShellOptions {
  /** A failed command ends the script. */
  readonly errexit: boolean
  /** An unset variable is an error. */
  readonly nounset: boolean
  /** Commands are read but not run. */
  readonly noexec: boolean
  /** Prints the script before it runs. */
  readonly verbose: boolean
  /** Prints every command before it runs. */
  readonly xtrace: boolean
}

export const plainShell: ShellOptions = {
  errexit: false,
  nounset: false,
  noexec: false,
  verbose: false,
  xtrace: false,
}

const effective: Readonly<Record<string, keyof ShellOptions>> = {
  e: 'errexit',
  n: 'noexec',
  u: 'nounset',
  v: 'verbose',
  x: 'xtrace',
}
/** Options about files, jobs and editing, which have no effect here. */
const idleLetters = 'abCfhilImsEV'
const idleNames = new Set([
  'allexport',
  'emacs',
  'hashall',
  'ignoreeof',
  'interactive',
  'login',
  'monitor',
  'noclobber',
  'noglob',
  'nolog',
  'notify',
  'pipefail',
  'stdin',
  'vi',
])

export interface ShellArguments {
  readonly options: ShellOptions
  /** `-c`: the first operand is the script. */
  readonly isScript: boolean
  readonly operands: readonly string[]
}

export class ShellUsageFault extends Error {}

/** Parses options up to the first operand and adds them to the current ones. Throws a ShellUsageFault for an unknown option. */
export function readShellArguments(
  args: readonly string[],
  before: ShellOptions = plainShell,
): ShellArguments {
  const options = { ...before }
  let isScript = false
  const left = [...args]
  const name = (word: string | undefined, isOn: boolean): void => {
    const known = Object.values(effective).find((one) => one === word)
    if (known !== undefined) options[known] = isOn
    else if (word === undefined || !idleNames.has(word)) {
      throw new ShellUsageFault(`illegal option -o ${word ?? ''}`)
    }
  }
  while (left[0] !== undefined && /^[-+]/.test(left[0])) {
    const word = left.shift() ?? ''
    if (word === '-' || word === '--') break
    if (word === '--login') continue
    const isOn = word.startsWith('-')
    for (const letter of word.slice(1)) {
      const known = Object.hasOwn(effective, letter) ? effective[letter] : undefined
      if (known !== undefined) options[known] = isOn
      else if (letter === 'c' && isOn) isScript = true
      else if (letter === 'o') name(left.shift(), isOn)
      else if (!idleLetters.includes(letter)) {
        throw new ShellUsageFault(`illegal option -${letter}`)
      }
    }
  }
  return { options, isScript, operands: left }
}
