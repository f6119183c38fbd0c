/** `skiff convert`: manifests of older versions in newer ones, without a cluster (upstream: kubectl convert). */
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
  filename: flag.list('Manifests to convert, YAML or JSON; - is standard input. Repeatable.', []),
  'output-version': flag.string(
    'Version to convert to, such as apps/v1; kinds it does not have get the preferred one of their group.',
  ),
  output: flag.string('How the result is printed.', 'yaml', { choices: ['yaml', 'json'] }),
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
    'Needs no cluster. Versions that are served no more can be converted from, not to. What the result has and the\n' +
    'manifest had not are defaults of its old version.',
  flags,
  examples: [
    ['skiff convert -f ingress.yaml --output-version networking.k8s.io/v1', 'Into that version'],
    ['skiff convert -f old.yaml -o json', 'Into the preferred version of each kind, as JSON'],
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
      throw new ClusterError('usage', `--output-version: there is no version "${outputVersion}"`, {
        hint: 'versions are written group/version, such as apps/v1, and v1 for the core group',
      })
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
