//! How intervals are made, and what that is called in formats and in text.

/// How an interval was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// Wilson score interval.
    Wilson,
    /// Clopper-Pearson exact interval.
    ClopperPearson,
    /// Jeffreys interval, end rules of Brown, Cai & DasGupta.
    Jeffreys,
    /// Generalised Jeffreys interval of a mean in [0, 1].
    GenJeffreys,
    /// Wilson in place of a beta interval whose shapes are too large for the beta quantile.
    WilsonLarge,
    /// Stratified Wilson: these cases, new seeds.
    StratWilson,
    /// Student interval on unit means (CR1).
    ClusterT,
    /// Student interval on session weights with cluster-robust error.
    ClusteredMicro,
    /// Student interval on the logarithm of a mean.
    LogT,
    /// Order statistics around a median.
    OrderStat,
    /// Student interval on the logarithm of a ratio of means.
    LogTRatio,
    /// Student interval on paired differences, with seed noise added: cases a sample.
    RegPairedT,
    /// Difference recovered from two stratified Wilson intervals: these cases.
    Mover,
    /// Difference of two proportions recovered from their Wilson intervals.
    Newcombe,
    /// Student interval on the logarithms of paired ratios.
    LogTPaired,
    /// Walsh averages around their median, by the signed-rank law.
    HodgesLehmann,
    /// Student interval on the scores of one case.
    T,
    /// Beta-binomial confidence sequence: holds at every look at once.
    CsBetaBinomial,
    /// The same for a difference, over complete blocks of seeds and all pairs of variants.
    CsPaired,
    /// Percentile bootstrap.
    Percentile,
    /// Bias-corrected and accelerated bootstrap.
    Bca,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::Wilson,
        Self::ClopperPearson,
        Self::Jeffreys,
        Self::GenJeffreys,
        Self::WilsonLarge,
        Self::StratWilson,
        Self::ClusterT,
        Self::ClusteredMicro,
        Self::LogT,
        Self::OrderStat,
        Self::LogTRatio,
        Self::RegPairedT,
        Self::Mover,
        Self::Newcombe,
        Self::LogTPaired,
        Self::HodgesLehmann,
        Self::T,
        Self::CsBetaBinomial,
        Self::CsPaired,
        Self::Percentile,
        Self::Bca,
    ];

    /// Name in formats, for example `wilson`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::Wilson => "wilson",
            Self::ClopperPearson => "clopper_pearson",
            Self::Jeffreys => "jeffreys",
            Self::GenJeffreys => "gen_jeffreys",
            Self::WilsonLarge => "wilson_large",
            Self::StratWilson => "strat_wilson",
            Self::ClusterT => "cluster_t",
            Self::ClusteredMicro => "clustered_micro",
            Self::LogT => "log_t",
            Self::OrderStat => "order_stat",
            Self::LogTRatio => "log_t_ratio",
            Self::RegPairedT => "reg_paired_t",
            Self::Mover => "mover",
            Self::Newcombe => "newcombe",
            Self::LogTPaired => "log_t_paired",
            Self::HodgesLehmann => "hodges_lehmann",
            Self::T => "t",
            Self::CsBetaBinomial => "cs_beta_binomial",
            Self::CsPaired => "cs_paired",
            Self::Percentile => "bootstrap_percentile",
            Self::Bca => "bootstrap_bca",
        }
    }

    /// The method with that tag.
    pub fn by_tag(tag: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.tag() == tag)
    }

    /// Name in text, for example `Wilson`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Wilson => "Wilson",
            Self::ClopperPearson => "Clopper-Pearson",
            Self::Jeffreys => "Jeffreys",
            Self::GenJeffreys => "gen. Jeffreys",
            Self::WilsonLarge => "Wilson (large)",
            Self::StratWilson => "strat. Wilson",
            Self::ClusterT => "cluster t",
            Self::ClusteredMicro => "clustered micro",
            Self::LogT => "log-t",
            Self::OrderStat => "order stat.",
            Self::LogTRatio => "log-t ratio",
            Self::RegPairedT => "reg. paired t",
            Self::Mover => "MOVER",
            Self::Newcombe => "Newcombe",
            Self::LogTPaired => "log-t paired",
            Self::HodgesLehmann => "Hodges-Lehmann",
            Self::T => "t",
            Self::CsBetaBinomial => "confidence sequence",
            Self::CsPaired => "paired confidence sequence",
            Self::Percentile => "bootstrap %ile",
            Self::Bca => "bootstrap BCa",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tag_leads_to_its_method() {
        for method in Method::ALL {
            assert_eq!(Method::by_tag(method.tag()), Some(method));
        }
        assert_eq!(Method::by_tag("Wilson"), None);
    }
}
