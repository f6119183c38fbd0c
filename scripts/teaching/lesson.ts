/** Lesson: how the teaching scripts talk: a step at a time, each explained before it happens. */
import { argv, chalk, echo, question } from 'zx'

/** Announces a step and, on a terminal, waits for Enter; `--yes` does not wait. */
export async function step(title: string, explanation: string): Promise<void> {
  echo(`\n${chalk.bold.cyan(`# ${title}`)}`)
  for (const line of explanation.trim().split('\n')) echo(chalk.dim(`# ${line.trim()}`))
  if (process.stdin.isTTY && argv['yes'] !== true) await question(chalk.dim('# (Enter) '))
}

/** Shows something that was made. */
export function show(text: string): void {
  echo(text.trimEnd().replaceAll(/^/gm, '  '))
}

/** The value of `--name`, or the default. */
export function option(name: string, fallback: string): string {
  const value: unknown = argv[name]
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : fallback
}
