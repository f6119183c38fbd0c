/** `skiff graph`: a cluster, the family of an object, or the timeline of scenarios as a diagram. */
import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { defineCommand, type CommandContext } from '../../cluster/cli/command.ts'
import { exitCodes } from '../../cluster/cli/exit-codes.ts'
import { withLateProgress } from '../../cluster/cli/progress.ts'
import { ClusterError } from '../../cluster/cluster-error.ts'
import { explained } from '../../cluster/system-error.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import { readFamily } from '../family/read-family.ts'
import { clusterMermaid } from '../graph/cluster-mermaid.ts'
import { readPicture } from '../graph/cluster-picture.ts'
import { clusterSvg } from '../graph/cluster-svg.ts'
import { forestMermaid } from '../graph/forest-mermaid.ts'
import { forestSvg } from '../graph/forest-svg.ts'
import { familyForest } from '../graph/forest.ts'
import { readTimelines } from '../graph/timeline.ts'
import { timelineMermaid } from '../graph/timeline-mermaid.ts'
import { timelineSvg } from '../graph/timeline-svg.ts'
import { askedObject } from '../../cluster/cli/asked-object.ts'
import { targetFlags, withTarget, type GivenTarget } from '../../cluster/cli/target.ts'

type Format = 'svg' | 'mermaid'

const flags = defineFlags({
  format: flag.string('Format; by default that of the name of the file, else svg.', '', {
    choices: ['', 'svg', 'mermaid'],
  }),
  output: flag.string(
    'File to write (-o): NAME.svg, or NAME.mmd for Mermaid; by default standard output.',
    '',
  ),
  namespace: flag.string('Namespace of the object (-n).', 'default'),
  up: flag.bool('Begin with the owners of the object, up to the top.', false),
  ...targetFlags,
})

interface Given extends GivenTarget {
  readonly format: string
  readonly output: string
  readonly namespace: string
  readonly up: boolean
}

const formats: Readonly<Record<string, Format>> = {
  '.svg': 'svg',
  '.mmd': 'mermaid',
  '.mermaid': 'mermaid',
}
/** A report of scenarios is far smaller. */
const mostReportBytes = 64 * 1024 * 1024

function formatOf({ format, output }: Given): Format {
  if (format === 'svg' || format === 'mermaid') return format
  if (output === '') return 'svg'
  const found = formats[extname(output).toLowerCase()]
  if (found !== undefined) return found
  throw new ClusterError('usage', `cannot tell the format of "${output}"`, {
    hint: 'name the file .svg or .mmd, or pass --format',
  })
}

async function readReport(path: string): Promise<string> {
  const text =
    path === '-' ? await textOf(process.stdin) : await explained(path, () => readFile(path, 'utf8'))
  if (text.length <= mostReportBytes) return text
  throw new ClusterError('usage', `${path} is too long for a report of scenarios`)
}

async function drawScenario(args: readonly string[], format: Format): Promise<string> {
  const [, path] = args
  if (path === undefined) {
    throw new ClusterError('usage', 'skiff graph scenario needs the FILE of a report', {
      hint: 'write one with: skiff scenario run SCENARIO --json FILE',
    })
  }
  const timelines = readTimelines(await readReport(path), path)
  return format === 'svg' ? timelineSvg(timelines) : timelineMermaid(timelines)
}

async function drawCluster(context: CommandContext, given: Given, format: Format): Promise<string> {
  return await withTarget(context, given, async (target) => {
    const picture = await withLateProgress(context, 'read', () => readPicture(target))
    return format === 'svg' ? clusterSvg(picture) : clusterMermaid(picture)
  })
}

async function drawObject(
  context: CommandContext,
  of: { readonly given: Given; readonly args: readonly string[]; readonly format: Format },
): Promise<string> {
  const { given, format } = of
  const { namespace, up } = given
  const asked = askedObject('graph', of.args)
  return await withTarget(context, given, async ({ client }) => {
    const family = await withLateProgress(context, 'read', () =>
      readFamily(client, { ...asked, namespace, up }),
    )
    for (const line of family.notRead) context.terminal.err(`not read: ${line}\n`)
    const forest = familyForest(family.roots, namespace)
    const title = `${asked.kind} ${asked.name}`
    return format === 'svg' ? forestSvg(title, forest) : forestMermaid(forest)
  })
}

export const graph = defineCommand({
  name: 'graph',
  summary: 'Draw a cluster, an object with what it owns, or a scenario',
  description:
    'Draws the control plane, the nodes and their pods by owner; with KIND NAME an object with everything that it owns; with\n' +
    '`scenario FILE` the steps, faults and checks of a report of `skiff scenario run --json FILE`, by time (- for standard input).\n' +
    'Writes SVG, for light and dark and without references to anything outside, or Mermaid. The same state gives the same text.',
  arguments: [
    { name: 'cluster|KIND|scenario', isOptional: true },
    { name: 'NAME|FILE', isOptional: true },
  ],
  flags,
  examples: [
    ['skiff graph -o cluster.svg', 'Draw the cluster'],
    ['skiff graph deployment web -o web.mmd', 'Draw a Deployment with its pods, as Mermaid'],
    ['skiff graph pod web-5d4-x --up --context staging', 'Draw what owns a pod of any cluster'],
    ['skiff graph scenario report.json -o run.svg', 'Draw when the steps of a scenario ran'],
  ],
  run: async (context, { flags: given, args }) => {
    const format = formatOf(given)
    const [what = 'cluster', name] = args
    const isCluster = what === 'cluster' && name === undefined
    const diagram =
      what === 'scenario'
        ? await drawScenario(args, format)
        : isCluster
          ? await drawCluster(context, given, format)
          : await drawObject(context, { given, args, format })
    const { terminal } = context
    if (given.output === '') terminal.out(diagram)
    else {
      const path = resolve(given.output)
      await explained(path, () => writeFileSync(path, diagram))
      terminal.out(`${path}\n`)
    }
    return exitCodes.ok
  },
})
