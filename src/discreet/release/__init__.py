"""Where a number becomes public: the only place that draws noise over data, and only after paying."""
