/** The page of the commands of `skiff`: what each does, its arguments, flags and examples. */
import { shortFlags, usageLine } from '../../cluster/cli/command.ts'
import type { Command } from '../../cluster/cli/command.ts'
import { skiffCommands } from '../skiff/commands.ts'
import { flagTable } from './flag-table.ts'
import { code, codes, escaped, page, table } from './markdown.ts'

function section(command: Command): string {
  const { name, summary, description, flags, examples } = command
  const lines = examples.map(([line, effect]) => `# ${effect}\n${line}`)
  return [
    `## skiff ${name}`,
    `${escaped(summary)}.`,
    ...(description === undefined ? [] : [description.split('\n').map(escaped).join('\n')]),
    `\`\`\`text\n${usageLine(command)}\n\`\`\``,
    ...(Object.keys(flags).length === 0 ? [] : [flagTable(flags)]),
    `\`\`\`sh\n${lines.join('\n\n')}\n\`\`\``,
  ]
    .map((part) => part.trim())
    .join('\n\n')
}

export async function commandsPage(): Promise<string> {
  const groups = await Promise.all(skiffCommands.map(async (entry) => await entry.load()))
  const commands = groups.flat()
  const shorts = Object.entries(shortFlags).map(([short, long]) => [
    code(`-${short}`),
    codes(long.map((name) => `--${name}`)),
  ])
  return page(
    'Commands',
    'Every command also takes `--help`, and `--deprecation-warnings=false` to silence warnings of deprecated flags. ' +
      '[Exit codes](exit-codes.md) are the same for all commands.',
    table(
      ['command', 'what it does'],
      commands.map(({ name, summary }) => [
        `[${code(`skiff ${name}`)}](#skiff-${name.replaceAll(' ', '-')})`,
        escaped(summary),
      ]),
    ),
    'Short flags stand for the first of these flags that the command has:',
    table(['short', 'long'], shorts),
    ...commands.map(section),
  )
}
