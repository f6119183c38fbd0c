/** Lesson: output of the teaching scripts, which explain each step before they run it. */
import { argv, chalk, echo, question } from 'zx'

/** Prints a step and its explanation. On a terminal it then waits for Enter, unless `--yes` is given. */
export async function step(title: string, explanation: string): Promise<void> {
  echo(`\n${chalk.bold.cyan(`# ${title}`)}`)
  for (const line of explanation.trim().split('\n')) echo(chalk.dim(`# ${line.trim()}`))
  if (process.stdin.isTTY && argv['yes'] !== true) await question(chalk.dim('# (Enter) '))
}

/** Prints a result, indented. */
export function show(text: string): void {
  echo(text.trimEnd().replaceAll(/^/gm, '  '))
}

/** The value of `--name`, or the default. */
export function option(name: string, fallback: string): string {
  const value: unknown = argv[name]
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : fallback
}
