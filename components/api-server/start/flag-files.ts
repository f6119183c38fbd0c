/** flag-files: reads the files that flags name, once at the start. */
import { StartError } from '../../component-base/component.ts'
import { readFlagFile } from '../../component-base/flag-file.ts'
import { isAdmissionPlugin } from '../../api/admission-plugins.ts'
import type { Dialect } from '../../api/dialect.ts'
import type { Log } from '../../component-base/log.ts'
import type { PluginSettings } from '../admission/plugin-settings.ts'
import type { ApiServerOptions } from '../configuration/options.ts'
import { serverIdentity } from '../controllers/identity-lease.ts'
import type { EgressSelector } from '../egress/egress-selector.ts'
import { openEncryptionFile, type EncryptionFile } from '../encryption/encryption-file.ts'
import type { Settings } from './settings.ts'

/** The file of --encryption-provider-config, for the caller to close; undefined without the flag. */
export async function encryptionOf({
  options,
  hostname,
  resources,
  ...settings
}: Settings): Promise<EncryptionFile | undefined> {
  const path = options['encryption-provider-config']
  const follows = options['encryption-provider-config-automatic-reload']
  if (path === undefined || path === '') {
    if (!follows) return undefined
    throw new StartError(
      '--encryption-provider-config-automatic-reload must be set with --encryption-provider-config',
    )
  }
  try {
    const serverId = serverIdentity(hostname)
    return await openEncryptionFile({ ...settings, path, serverId, resources: resources.all })
  } catch (error) {
    throw new StartError(`--encryption-provider-config: ${(error as Error).message}`, error)
  }
}

/** The configuration of admission plugins in --admission-control-config-file. */
export async function admissionSettingsOf(
  options: ApiServerOptions,
  { dialect, log }: { readonly dialect: Dialect; readonly log: Log },
): Promise<PluginSettings> {
  const path = options['admission-control-config-file'] ?? ''
  if (path === '') return {}
  const [{ readAdmissionConfiguration }, { isConfigurable, readPluginSettings }] =
    await Promise.all([
      import('../admission/admission-configuration.ts'),
      import('../admission/plugin-settings.ts'),
    ])
  const flagged = `--admission-control-config-file: ${path}`
  let place = ''
  try {
    let settings: PluginSettings = {}
    for (const { plugin, source, folder, ...from } of readAdmissionConfiguration(path, dialect)) {
      place = `${from.place}: `
      if (!isAdmissionPlugin(plugin)) throw new Error(`plugin "${plugin}" is unknown`)
      if (isConfigurable(plugin)) {
        settings = {
          ...settings,
          ...(await readPluginSettings(plugin, source, { dialect, folder })),
        }
      } else log.warn(`${flagged}: the configuration of ${plugin} is not used`)
    }
    return settings
  } catch (error) {
    throw new StartError(`${flagged}: ${place}${(error as Error).message}`, error)
  }
}

/** The egress selector in --egress-selector-config-file. Without the flag all connections are direct. */
export async function egressOf(
  options: ApiServerOptions,
  dialect: Dialect,
): Promise<EgressSelector> {
  const path = options['egress-selector-config-file'] ?? ''
  const { directEgress, parseEgressSelector } = await import('../egress/egress-selector.ts')
  if (path === '') return directEgress
  const source = readFlagFile('egress-selector-config-file', path)
  try {
    return parseEgressSelector(source, dialect)
  } catch (error) {
    throw new StartError(
      `--egress-selector-config-file: ${path}: ${(error as Error).message}`,
      error,
    )
  }
}
