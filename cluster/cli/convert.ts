/** `skiff convert`: converts manifests to another API version, without a cluster (upstream: kubectl convert). */
import {
  ConversionError,
  convertManifest,
  isKnownVersion,
} from '../../components/api/conversions/convert-manifest.ts'
import { dialectNamed, dialects, type Dialect } from '../../components/api/dialect.ts'
import { defineFlags, flag } from '../../components/component-base/flags.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { ClusterError } from '../cluster-error.ts'
import { formatYaml } from '../yaml.ts'
import { defineCommand } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { objectsOf, textOf } from './manifests.ts'

const flags = defineFlags({
  filename: flag.list(
    'File with manifests to convert, YAML or JSON; - for standard input. Repeatable.',
    [],
  ),
  'output-version': flag.string(
    'Version to convert to, such as apps/v1; other kinds get the preferred version of their group.',
  ),
  output: flag.string('Output format.', 'yaml', { choices: ['yaml', 'json'] }),
  dialect: flag.string('Dialect of the manifests.', 'kubernetes', {
    choices: ['kubernetes', 'svc'],
  }),
})

function converted(
  object: KubeObject,
  at: { path: string; outputVersion: string | undefined; dialect: Dialect },
): KubeObject {
  const { path, outputVersion, dialect } = at
  try {
    return convertManifest(object, outputVersion, dialect)
  } catch (error) {
    if (!(error instanceof ConversionError)) throw error
    throw new ClusterError('failed', `${path}: ${error.message}`, { cause: error })
  }
}

export const convert = defineCommand({
  name: 'convert',
  summary: 'Convert manifests to another API version',
  description:
    'Needs no cluster. Converts from versions that are no longer served, but not to them. The result also contains the\n' +
    'defaults of the old version.',
  flags,
  examples: [
    [
      'skiff convert -f ingress.yaml --output-version networking.k8s.io/v1',
      'Convert to that version',
    ],
    ['skiff convert -f old.yaml -o json', 'Convert to the preferred version of each kind, as JSON'],
  ],
  run: async ({ terminal }, { flags: given }) => {
    const dialect = dialectNamed(given.dialect) ?? dialects.kubernetes
    const outputVersion = given['output-version']
    if (given.filename.length === 0) {
      throw new ClusterError('usage', 'skiff convert needs -f FILE', {
        hint: 'see: skiff convert --help',
      })
    }
    if (outputVersion !== undefined && !isKnownVersion(outputVersion, dialect)) {
      throw new ClusterError(
        'usage',
        `invalid --output-version "${outputVersion}": unknown version`,
        {
          hint: 'use group/version, such as apps/v1, or v1 for the core group',
        },
      )
    }
    const objects: KubeObject[] = []
    for (const path of given.filename) {
      for (const object of objectsOf(await textOf(path), path)) {
        objects.push(converted(object, { path, outputVersion, dialect }))
      }
    }
    const [only] = objects
    const result = objects.length === 1 ? only : { apiVersion: 'v1', kind: 'List', items: objects }
    terminal.out(
      given.output === 'json' ? `${JSON.stringify(result, null, 2)}\n` : formatYaml(result),
    )
    return exitCodes.ok
  },
})
